package auth

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/machine"
)

func TestMayAct(t *testing.T) {
	holder := []Role{RoleHolder}
	tests := []struct {
		caller           Caller
		holder, resource string
		want             bool
	}{
		{Local, "anybody", "anything", true},
		{Caller{}, "anybody", "anything", false},
		{Caller{Roles: []Role{RoleReader, RoleOperator}}, "a", "r", false},
		{Caller{Roles: holder}, "a", "r", true},
		{Caller{Roles: holder, Holders: []string{"ci:*"}}, "ci:42", "r", true},
		{Caller{Roles: holder, Holders: []string{"ci:*"}}, "ci:", "r", true},
		{Caller{Roles: holder, Holders: []string{"ci:*"}}, "ci", "r", false},
		{Caller{Roles: holder, Holders: []string{"ci"}}, "ci:42", "r", false},
		{Caller{Roles: holder, Holders: []string{"a", "b"}}, "b", "r", true},
		{Caller{Roles: holder, Holders: []string{"a*b"}}, "axb", "r", false},
		{Caller{Roles: holder, Holders: []string{"a*b"}}, "a*b", "r", true},
		{Caller{Roles: holder, Holders: []string{"*"}}, "anybody", "r", true},
		{Caller{Roles: holder, Resources: []string{"deploy:*"}}, "a", "deploy:prod", true},
		{Caller{Roles: holder, Resources: []string{"deploy:*"}}, "a", "Deploy:prod", false},
		{Caller{Roles: holder, Holders: []string{"a"}, Resources: []string{"r"}}, "a", "s", false},
		{Caller{Roles: holder, Holders: []string{"a"}, Resources: []string{"r"}}, "b", "r", false},
	}
	for _, tt := range tests {
		if got := tt.caller.MayAct(tt.holder, tt.resource); got != tt.want {
			t.Errorf("%+v.MayAct(%q, %q) = %v, want %v", tt.caller, tt.holder, tt.resource, got, tt.want)
		}
	}
}

func TestMayRelease(t *testing.T) {
	holder := []Role{RoleHolder}
	for _, tt := range []struct {
		caller        Caller
		holder        string
		own, children bool
	}{
		{Local, "h", false, false}, // as an operator it may, not as a holder
		{Caller{Roles: holder}, "h", false, false},
		{Caller{Roles: holder, Holders: []string{"*"}}, "h", true, true},
		{Caller{Roles: []Role{RoleReader}, Holders: []string{"*"}}, "h", false, false},
		{Caller{Roles: holder, Holders: []string{"claude:*"}}, "claude:s", true, true},
		{Caller{Roles: holder, Holders: []string{"claude:*"}}, "claude:s/a", true, true},
		{Caller{Roles: holder, Holders: []string{"claude:*"}}, "codex:s", false, false},
		{Caller{Roles: holder, Holders: []string{"claude:s*"}}, "claude:s", true, true},
		{Caller{Roles: holder, Holders: []string{"claude:s"}}, "claude:s", true, false},
		{Caller{Roles: holder, Holders: []string{"claude:s", "claude:s/*"}}, "claude:s", true, true},
		{Caller{Roles: holder, Holders: []string{"claude:s", "claude:s/a*"}}, "claude:s", true, false},
		{Caller{Roles: holder, Holders: []string{"claude:s/*"}}, "claude:s", false, false},
	} {
		for children, want := range map[bool]bool{false: tt.own, true: tt.children} {
			if got := tt.caller.MayRelease(tt.holder, children); got != want {
				t.Errorf("%+v.MayRelease(%q, %v) = %v, want %v", tt.caller, tt.holder, children, got, want)
			}
		}
	}
}

func TestMayClaim(t *testing.T) {
	for _, tt := range []struct {
		resources          []string
		namespace, pattern string
		want               bool
	}{
		{nil, "repo", "**", true},
		{[]string{"*"}, "repo", "**", true},
		{[]string{"repo/*"}, "repo", "**", true},
		{[]string{"repo/*"}, "repo", "*.md", true},
		{[]string{"repo/*"}, "repo", "src/**", true},
		{[]string{"repo/*"}, "repository", "src/**", false},
		{[]string{"repo*"}, "repository", "src/**", true},
		{[]string{"repo/*"}, "repo:", "src", false},
		{[]string{"repo/*"}, "repo/", "src", true},

		{[]string{"repo/src/*"}, "repo", "src/a", true},
		{[]string{"repo/src/*"}, "repo", "src/a*", true},
		{[]string{"repo/src/*"}, "repo", "src/*", true},
		{[]string{"repo/src/*"}, "repo", "src/**/x", true},
		{[]string{"repo/src/*"}, "repo", "src", false},
		{[]string{"repo/src/*"}, "repo", "src*", false},
		{[]string{"repo/src/*"}, "repo", "sr*/a", false},
		{[]string{"repo/src/*"}, "repo", "**/src", false},
		{[]string{"repo/src/*"}, "repo", "*", false},
		{[]string{"repo/src/*"}, "other", "src/a", false},

		// src/** fits src, which src/ does not begin.
		{[]string{"repo/src/*"}, "repo", "src/**", false},
		{[]string{"repo/src/*"}, "repo", "src/**/**", false},
		{[]string{"repo/src/*", "repo/src"}, "repo", "src/**", true},
		{[]string{"repo/src*"}, "repo", "src/**", true},
		{[]string{"repo/src"}, "repo", "src/**", false},

		// An exact name allows that one, however it looks.
		{[]string{"repo/src/a"}, "repo", "src/a", true},
		{[]string{"repo/src/"}, "repo", "src/*", false},
		{[]string{"repo/a*b"}, "repo", "a*b", false},
		{[]string{"repo/src/*"}, "repo", "src/*/*", true},

		{[]string{"prod:*"}, "prod:", "us:**", true},
		{[]string{"prod:us:*"}, "prod:", "us:*", true},
		{[]string{"prod:us:*"}, "prod:", "us:**", false},
		{[]string{"prod:us:*"}, "prod:", "eu:*", false},
		{[]string{"prod:us:*"}, "prod", "us:1", false}, // prod/us:1

		{[]string{"deploy:*"}, "", "deploy:prod", true},
		{[]string{"deploy:*"}, "", "deploy:**", true}, // a name, not a pattern
		{[]string{"deploy:prod"}, "", "deploy:*", false},
	} {
		c := Caller{Roles: []Role{RoleHolder}, Resources: tt.resources}
		claim := leasehold.Claim{Namespace: tt.namespace, Pattern: tt.pattern}
		if got := c.MayClaim("a", claim); got != tt.want {
			t.Errorf("%q.MayClaim(%v) = %v, want %v", tt.resources, claim, got, tt.want)
		}
		c.Holders = []string{"b"}
		if c.MayClaim("a", claim) {
			t.Errorf("%q.MayClaim(%v) = true for a holder that the caller is not", tt.resources, claim)
		}
		c.Holders, c.Roles = nil, []Role{RoleReader, RoleOperator}
		if c.MayClaim("a", claim) {
			t.Errorf("%q.MayClaim(%v) = true without the role", tt.resources, claim)
		}
	}
}

// A caller that may claim a pattern may claim every path that fits it.
func TestMayClaimAllThatFits(t *testing.T) {
	segments := []string{"a", "ab", "*", "a*", "*b", "**"}
	resources := []string{"n/*", "n/a*", "n/a/*", "n/a", "n/ab*", "n/ab/*", "n/a/b", "n/a/ab*", "m/*", "n/"}
	var patterns, paths []leasehold.Claim
	for _, a := range segments {
		patterns = append(patterns, leasehold.Claim{Namespace: "n", Pattern: a})
		for _, b := range segments {
			patterns = append(patterns, leasehold.Claim{Namespace: "n", Pattern: a + "/" + b})
			for _, c := range segments {
				patterns = append(patterns, leasehold.Claim{Namespace: "n", Pattern: a + "/" + b + "/" + c})
			}
		}
	}
	for _, p := range patterns {
		if !strings.Contains(p.Pattern, "*") {
			paths = append(paths, p)
		}
	}
	allowed := 0
	for i, one := range resources {
		for _, other := range resources[i:] {
			c := Caller{Roles: []Role{RoleHolder}, Resources: []string{one, other}}
			for _, pattern := range patterns {
				if !c.MayClaim("h", pattern) {
					continue
				}
				allowed++
				for _, path := range paths {
					if machine.Overlaps(pattern, path) && !c.MayClaim("h", path) {
						t.Errorf("%q may claim %v, but not %v, which fits it", c.Resources, pattern, path)
					}
				}
			}
		}
	}
	if allowed < 1000 {
		t.Errorf("only %d claims were allowed: the test shows little", allowed)
	}
}

func TestFrom(t *testing.T) {
	if diff := cmp.Diff(Caller{}, From(context.Background())); diff != "" {
		t.Errorf("From(nothing) differs (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(Local, From(With(context.Background(), Local))); diff != "" {
		t.Errorf("From(With(Local)) differs (-want +got):\n%s", diff)
	}
}
