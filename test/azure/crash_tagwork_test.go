//go:build unix

package azuretest

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
)

// What is done to blobs with tags.

// planLabelled puts a blob, with tags or without, where there may be one with
// others.
func planLabelled(h *hand[labelled], name string, r entry[labelled]) (entry[labelled], move[labelled]) {
	p, t := piece{seed: rand.Uint64(), size: rand.IntN(1000)}, newTags()
	if rand.IntN(4) == 0 {
		t = nil
	}
	return r.with(labelled{sumOf([]piece{p}), t}), func(ctx context.Context, _ *entry[labelled]) error {
		_, err := h.container().NewBlockBlobClient(name).Upload(ctx, body(p), &blockblob.UploadOptions{Tags: t})
		return err
	}
}

func planTags(h *hand[labelled], name string, r entry[labelled]) (entry[labelled], move[labelled]) {
	return setTags(h, name, r, newTags())
}

func planNoTags(h *hand[labelled], name string, r entry[labelled]) (entry[labelled], move[labelled]) {
	return setTags(h, name, r, tags{})
}

func setTags(h *hand[labelled], name string, r entry[labelled], t tags) (entry[labelled], move[labelled]) {
	if !r.there {
		return r, nil
	}
	return r.with(labelled{r.is.sum, t}), func(ctx context.Context, _ *entry[labelled]) error {
		_, err := h.blob(name).SetTags(ctx, t, nil)
		return err
	}
}

func planReadTags(h *hand[labelled], name string, r entry[labelled]) (entry[labelled], move[labelled]) {
	if !r.there {
		return r, nil
	}
	return r, func(ctx context.Context, _ *entry[labelled]) error {
		answer, err := h.blob(name).GetTags(ctx, nil)
		if got := tagsOf(&answer.BlobTags); err == nil && !maps.Equal(got, r.is.tags) {
			err = fmt.Errorf("has the tags %v, want %v: %w", got, r.is.tags, errWrong)
		}
		return err
	}
}

// planFind wants to find exactly what was acknowledged: nobody else writes
// here.
func planFind(h *hand[labelled], _ string, r entry[labelled]) (entry[labelled], move[labelled]) {
	s, blobs := searches[rand.IntN(len(searches))], map[string]tags{}
	for name, k := range h.known {
		if k.there {
			blobs[name] = k.is.tags
		}
	}
	return r, func(ctx context.Context, _ *entry[labelled]) error {
		got, err := findInside(ctx, h, s.where)
		if want := s.among(blobs); err == nil && got != want {
			err = fmt.Errorf("find %s = %q, want %q: %w", s.where, got, want, errWrong)
		}
		return err
	}
}
