//go:build unix

package azuretest

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"

	sdk "github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
)

// taggedBlob is a blob with tags.
type taggedBlob struct {
	sum  string // of the content
	tags tags
}

type tags map[string]string

func newTagDriver(name string) crashClient {
	return newDriver("tags", name, 8, kind[taggedBlob]{
		describe: taggedBlob.String,
		read:     readTaggedBlobs,
		operations: []operation[taggedBlob]{
			{"put", planPutTagged}, {"set tags", planTags}, {"set tags", planTags}, {"set tags", planTags}, {"set no tags", planNoTags},
			{"read tags", planReadTags}, {"find", planFind},
			{"snapshot", planSnapshot[taggedBlob]}, {"delete snapshot", planDeleteSnapshot[taggedBlob]}, {"delete", planDelete[taggedBlob]},
		},
	})
}

// String is the same for nil and for empty tags.
func (b taggedBlob) String() string {
	return fmt.Sprintf("%s, tags %v", b.sum, map[string]string(b.tags))
}

// tagValues are few, so that searches find several blobs. The last one has all
// characters that are special in a query.
var tagValues = []string{"a", "b", "c", "c d/e=f+g"}

func newTags() tags {
	t := tags{"colour": tagValues[rand.IntN(len(tagValues))]}
	if rand.IntN(2) == 0 {
		t["size"] = tagValues[rand.IntN(len(tagValues))]
	}
	return t
}

// tagsOf decodes the tags of an answer.
func tagsOf(list *container.BlobTags) tags {
	t := tags{}
	for _, tag := range deref(list).BlobTagSet {
		t[*tag.Key] = *tag.Value
	}
	return t
}

// readTaggedBlobs also checks that searches find what the blobs' own tags say,
// whatever was under way at the crash.
func readTaggedBlobs(ctx context.Context, d *driver[taggedBlob]) (map[string]view, error) {
	blobs := map[string]tags{}
	seen, err := d.readBlobs(ctx, func(ctx context.Context, item *container.BlobItem) (string, error) {
		b, err := readTaggedBlob(ctx, d, item)
		if item.Snapshot == nil {
			blobs[*item.Name] = b.tags
		}
		return b.String(), err
	})
	if err != nil {
		return nil, err
	}
	for _, s := range searches {
		if err := s.checkContainer(ctx, d, blobs); err != nil {
			return nil, err
		}
	}
	return seen, searches[rand.IntN(len(searches))].checkAccount(ctx, d, blobs)
}

func readTaggedBlob(ctx context.Context, d *driver[taggedBlob], item *container.BlobItem) (taggedBlob, error) {
	head, sum, err := d.readBlob(ctx, item)
	if err != nil {
		return taggedBlob{}, err
	}
	answer, err := d.blob(*item.Name).GetTags(ctx, &sdk.GetTagsOptions{Snapshot: item.Snapshot})
	if err != nil {
		return taggedBlob{}, err
	}
	t := tagsOf(&answer.BlobTags)
	if listed := tagsOf(item.BlobTags); !maps.Equal(listed, t) || deref(head.TagCount) != int64(len(t)) {
		return taggedBlob{}, fmt.Errorf("has the tags %v, but the list says %v, and the answer that they are %d", t, listed, deref(head.TagCount))
	}
	return taggedBlob{sum, t}, nil
}

// planPutTagged puts a blob with or without tags, maybe over one with others.
func planPutTagged(d *driver[taggedBlob], name string, s state[taggedBlob]) (state[taggedBlob], call[taggedBlob]) {
	p, t := piece{seed: rand.Uint64(), size: rand.IntN(1000)}, newTags()
	if rand.IntN(4) == 0 {
		t = nil
	}
	return s.with(taggedBlob{sumOf([]piece{p}), t}), func(ctx context.Context, _ *state[taggedBlob]) error {
		_, err := d.container().NewBlockBlobClient(name).Upload(ctx, body(p), &blockblob.UploadOptions{Tags: t})
		return err
	}
}

func planTags(d *driver[taggedBlob], name string, s state[taggedBlob]) (state[taggedBlob], call[taggedBlob]) {
	return setTags(d, name, s, newTags())
}

func planNoTags(d *driver[taggedBlob], name string, s state[taggedBlob]) (state[taggedBlob], call[taggedBlob]) {
	return setTags(d, name, s, tags{})
}

func setTags(d *driver[taggedBlob], name string, s state[taggedBlob], t tags) (state[taggedBlob], call[taggedBlob]) {
	if !s.exists {
		return s, nil
	}
	return s.with(taggedBlob{s.content.sum, t}), func(ctx context.Context, _ *state[taggedBlob]) error {
		_, err := d.blob(name).SetTags(ctx, t, nil)
		return err
	}
}

func planReadTags(d *driver[taggedBlob], name string, s state[taggedBlob]) (state[taggedBlob], call[taggedBlob]) {
	if !s.exists {
		return s, nil
	}
	return s, func(ctx context.Context, _ *state[taggedBlob]) error {
		answer, err := d.blob(name).GetTags(ctx, nil)
		if got := tagsOf(&answer.BlobTags); err == nil && !maps.Equal(got, s.content.tags) {
			err = fmt.Errorf("has the tags %v, want %v: %w", got, s.content.tags, errViolation)
		}
		return err
	}
}

// planFind expects exactly what was acknowledged: nobody else writes here.
func planFind(d *driver[taggedBlob], _ string, s state[taggedBlob]) (state[taggedBlob], call[taggedBlob]) {
	query, blobs := searches[rand.IntN(len(searches))], map[string]tags{}
	for name, known := range d.known {
		if known.exists {
			blobs[name] = known.content.tags
		}
	}
	return s, func(ctx context.Context, _ *state[taggedBlob]) error {
		got, err := findInContainer(ctx, d, query.where)
		if want := query.results(blobs); err == nil && got != want {
			err = fmt.Errorf("find %s = %q, want %q: %w", query.where, got, want, errViolation)
		}
		return err
	}
}
