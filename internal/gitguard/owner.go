package gitguard

import (
	"strconv"
	"strings"

	"github.com/leasehold/leasehold"
)

// Owner is who commits. The leases of an owner are not in its way.
type Owner struct {
	// Holders own what they hold, and what those below them hold: claude:7f3 owns
	// the leases of claude:7f3/review, a sub-agent of that session, which commits
	// with the session's environment.
	Holders []string

	// Resource and Token are a lease that the environment names, as leasehold
	// acquire and leasehold run set it. A token is that of one grant alone.
	Resource string
	Token    uint64
}

// sessions are the variables in which coding agents give the commands that they run
// the session's id, each with the name of the tool in a holder.
var sessions = []struct{ variable, tool string }{
	{"CLAUDE_CODE_SESSION_ID", "claude"},
	{"CODEX_THREAD_ID", "codex"},
	{"CURSOR_CONVERSATION_ID", "cursor"},
}

// EnvironmentOwner reads the owner from the environment: LEASEHOLD_HOLDER, the lease of
// LEASEHOLD_RESOURCE and LEASEHOLD_TOKEN, and the session of a coding agent.
func EnvironmentOwner(get func(string) string) (own Owner) {
	if holder := get("LEASEHOLD_HOLDER"); holder != "" {
		own.Holders = append(own.Holders, holder)
	}
	for _, s := range sessions {
		if id := get(s.variable); id != "" {
			own.Holders = append(own.Holders, s.tool+":"+id)
		}
	}
	if token, err := strconv.ParseUint(get("LEASEHOLD_TOKEN"), 10, 64); err == nil {
		own.Resource, own.Token = get("LEASEHOLD_RESOURCE"), token
	}
	return own
}

// Owns says whether a lease is the owner's.
func (o Owner) Owns(l leasehold.Lease) bool {
	for _, holder := range o.Holders {
		if l.Holder == holder || strings.HasPrefix(l.Holder, holder+"/") {
			return true
		}
	}
	return o.Token != 0 && l.Token == o.Token && l.Resource == o.Resource
}
