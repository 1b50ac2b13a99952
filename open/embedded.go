package open

import (
	"context"
	"net/url"
	"strings"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/store/memory"
	"github.com/leasehold/leasehold/store/sqlite"
	"github.com/leasehold/leasehold/store/sqlite/shared"
)

// SQLiteURL returns the URL of the embedded store in a file, with any characters in
// its name.
func SQLiteURL(file string) string {
	return "sqlite:" + strings.NewReplacer("%", "%25", "?", "%3F").Replace(file)
}

func openSQLite(ctx context.Context, u storeURL, o Options) (leasehold.Store, error) {
	file, err := u.file()
	if err != nil {
		return nil, err
	}
	durability, err := u.durability()
	if err != nil {
		return nil, err
	}
	if shares, err := u.shared(); err != nil {
		return nil, err
	} else if shares {
		return openShared(ctx, file, durability, o)
	}
	// A nil *sqlite.Store in the interface would not be nil.
	store, err := sqlite.Open(ctx, file, &sqlite.Options{
		Durability: durability, Modules: o.Modules, MustExist: o.MustExist, Reach: o.Reach,
		BlobsOnly: o.BlobsOnly, Reserve: o.Reserve, Logger: o.Logger, Observer: o.Observer,
	})
	if err != nil {
		return nil, err
	}
	return store, nil
}

func openShared(ctx context.Context, file string, durability sqlite.Durability, o Options) (leasehold.Store, error) {
	if len(o.Modules) > 0 {
		return nil, invalid("has mode=shared, in which a file has leases and nothing else; leave it out")
	}
	store, err := shared.Open(ctx, file, &shared.Options{Durability: durability, MustExist: o.MustExist, Logger: o.Logger})
	if err != nil {
		return nil, err
	}
	return store, nil
}

// shared reports whether other processes may have the file open as well.
func (u storeURL) shared() (bool, error) {
	switch word := u.params.Get("mode"); word {
	case "":
		return false, nil
	case "shared":
		return true, nil
	default:
		return false, invalid("has the mode %.32q; want shared or none", word)
	}
}

// file returns the name after the colon: relative or absolute, with %XX decoded.
// sqlite:///FILE is the absolute name.
func (u storeURL) file() (string, error) {
	name := u.rest
	if rooted, ok := strings.CutPrefix(name, "//"); ok {
		if !strings.HasPrefix(rooted, "/") {
			return "", invalid("names a host; want sqlite:FILE, or sqlite:///FILE with three slashes")
		}
		name = rooted
	}
	name, err := url.PathUnescape(name)
	if err != nil {
		return "", invalid("has a broken %%XX in the file's name; write %%25 for a percent sign")
	}
	if name == "" {
		return "", invalid("names no file; want sqlite:FILE, such as sqlite:leases.db")
	}
	return name, nil
}

func (u storeURL) durability() (sqlite.Durability, error) {
	switch word := u.params.Get("durability"); word {
	case "", "full":
		return sqlite.DurabilityFull, nil
	case "normal":
		return sqlite.DurabilityNormal, nil
	default:
		return 0, invalid("has the durability %.32q; want full or normal", word)
	}
}

func openMemory(_ context.Context, u storeURL, o Options) (leasehold.Store, error) {
	if u.rest != "" {
		return nil, invalid("names something after memory:, which has no name; want memory:")
	}
	return memory.Open(&memory.Options{Observer: o.Observer}), nil
}
