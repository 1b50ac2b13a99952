//go:build unix

package azuretest

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"

	sdk "github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
)

// labelled is a blob with tags.
type labelled struct {
	sum  string // of the content
	tags tags
}

type tags map[string]string

func newLabeller(name string) party {
	return newHand("tags", name, 8, craft[labelled]{
		describe: labelled.String,
		look:     lookAtLabels,
		feats: []feat[labelled]{
			{"put", planLabelled}, {"set tags", planTags}, {"set tags", planTags}, {"set tags", planTags}, {"set no tags", planNoTags},
			{"read tags", planReadTags}, {"find", planFind},
			{"snapshot", planShot[labelled]}, {"delete snapshot", planDropShot[labelled]}, {"delete", planRemove[labelled]},
		},
	})
}

// String is the same for no tags, however they are no tags.
func (l labelled) String() string {
	return fmt.Sprintf("%s, tags %v", l.sum, map[string]string(l.tags))
}

// tagValues are few, so that some are found together. The last one has all that
// needs care in a query.
var tagValues = []string{"a", "b", "c", "c d/e=f+g"}

func newTags() tags {
	t := tags{"colour": tagValues[rand.IntN(len(tagValues))]}
	if rand.IntN(2) == 0 {
		t["size"] = tagValues[rand.IntN(len(tagValues))]
	}
	return t
}

// tagsOf reads what an answer says.
func tagsOf(list *container.BlobTags) tags {
	t := tags{}
	for _, tag := range value(list).BlobTagSet {
		t[*tag.Key] = *tag.Value
	}
	return t
}

// lookAtLabels compares what is found with what the blobs themselves say: that
// must be the same, whatever was under way.
func lookAtLabels(ctx context.Context, h *hand[labelled]) (map[string]sight, error) {
	blobs := map[string]tags{}
	seen, err := h.lookAtBlobs(ctx, func(ctx context.Context, item *container.BlobItem) (string, error) {
		l, err := lookAtLabel(ctx, h, item)
		if item.Snapshot == nil {
			blobs[*item.Name] = l.tags
		}
		return l.String(), err
	})
	if err != nil {
		return nil, err
	}
	for _, s := range searches {
		if err := s.checkInside(ctx, h, blobs); err != nil {
			return nil, err
		}
	}
	return seen, searches[rand.IntN(len(searches))].checkEverywhere(ctx, h, blobs)
}

func lookAtLabel(ctx context.Context, h *hand[labelled], item *container.BlobItem) (labelled, error) {
	head, sum, err := h.fetch(ctx, item)
	if err != nil {
		return labelled{}, err
	}
	answer, err := h.blob(*item.Name).GetTags(ctx, &sdk.GetTagsOptions{Snapshot: item.Snapshot})
	if err != nil {
		return labelled{}, err
	}
	t := tagsOf(&answer.BlobTags)
	if listed := tagsOf(item.BlobTags); !maps.Equal(listed, t) || value(head.TagCount) != int64(len(t)) {
		return labelled{}, fmt.Errorf("has the tags %v, but the list says %v, and the answer that they are %d", t, listed, value(head.TagCount))
	}
	return labelled{sum, t}, nil
}
