package auth

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
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

func TestFrom(t *testing.T) {
	if diff := cmp.Diff(Caller{}, From(context.Background())); diff != "" {
		t.Errorf("From(nothing) differs (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(Local, From(With(context.Background(), Local))); diff != "" {
		t.Errorf("From(With(Local)) differs (-want +got):\n%s", diff)
	}
}
