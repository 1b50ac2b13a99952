package surreal

import (
	"context"
	"embed"
	"errors"
	"strings"
	"time"

	"github.com/fxamacker/cbor/v2"
	"github.com/surrealdb/surrealdb.go"
	"github.com/surrealdb/surrealdb.go/pkg/models"
	"github.com/surrealdb/surrealdb.go/surrealcbor"

	"github.com/leasehold/leasehold/store/cas"
)

//go:embed surql
var files embed.FS

// statement returns the text of a file.
func statement(name string) string {
	text, err := files.ReadFile("surql/" + name + ".surql")
	if err != nil {
		panic(err)
	}
	return string(text)
}

// The statements.
var (
	defineText       = statement("define")
	loadText         = statement("load")
	swapText         = statement("swap")
	scanText         = statement("scan")
	scanFromText     = statement("scan_from")
	findText         = statement("find")
	forgetText       = statement("forget")
	dueText          = statement("due")
	countText        = statement("count")
	countLiveText    = statement("count_live")
	holderText       = statement("holder")
	swapHolderText   = statement("swap_holder")
	settingsText     = statement("settings")
	swapSettingsText = statement("swap_settings")
	appendText       = statement("append")
	journalText      = statement("journal")
	numberText       = statement("number")
	historyText      = statement("history")
	oldestText       = statement("oldest")
	noticesText      = statement("notices")
	oldNoticesText   = statement("old_notices")
	liveText         = statement("live")
)

// vars are the parameters of a statement.
type vars map[string]any

// run executes statements and returns their results.
func (b *backend) run(ctx context.Context, text string, v vars) ([]cbor.RawMessage, error) {
	if b.thing != "" {
		text = strings.ReplaceAll(text, "type::record(", b.thing+"(")
	}
	results, err := surrealdb.Query[cbor.RawMessage](ctx, b.db, text, v)
	if err != nil {
		return nil, classify(err)
	}
	raw := make([]cbor.RawMessage, len(*results))
	for i, r := range *results {
		raw[i] = r.Result
	}
	return raw, nil
}

// read is last for statements that change nothing, or may be repeated: if they
// conflict with others they are.
func (b *backend) read(ctx context.Context, text string, v vars, into any) error {
	for {
		err := b.last(ctx, text, v, into)
		if !errors.Is(err, cas.ErrRaced) {
			return err
		}
		if err := shortPause(ctx); err != nil {
			return err
		}
	}
}

// last executes statements and decodes the result of the last one.
func (b *backend) last(ctx context.Context, text string, v vars, into any) error {
	results, err := b.run(ctx, text, v)
	if err != nil {
		return err
	}
	if len(results) == 0 || surrealcbor.Unmarshal(results[len(results)-1], into) != nil {
		return errors.New("surreal: the answer cannot be read") // the decoder's text may repeat a secret
	}
	return nil
}

// commit executes a transaction and returns the server's time after it.
func (b *backend) commit(ctx context.Context, text string, v vars) (time.Time, error) {
	var now models.CustomDateTime
	err := b.last(ctx, text, v, &now)
	return now.Time, err
}
