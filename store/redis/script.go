package redis

import (
	"context"
	"crypto/sha1"
	"embed"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/leasehold/leasehold"
	"github.com/redis/go-redis/v9"
)

//go:embed lua/*.lua
var luaFiles embed.FS

// script is a Lua script, made when it is first used: for a store that keeps a
// history, and for one that does not.
type script struct{ recording, quiet func() lua }

// lua is the text of a script, and the hash by which the server knows it.
type lua struct {
	source string
	sha    any // a string, as the client wants it
}

// The scripts, one an operation.
var (
	acquireScript  = newScript("acquire")
	renewScript    = newScript("renew")
	releaseScript  = newScript("release")
	breakScript    = newScript("break")
	changeScript   = newScript("change")
	transferScript = newScript("transfer")
	statusScript   = newScript("status")
	listScript     = newScript("list")
	expireScript   = newScript("expire")
	purgeScript    = newScript("purge")
	failedScript   = newScript("failed")
	settingScript  = newScript("setting")

	// Those of the indexes on a Cluster.
	admitScript   = newScript("admit")
	retractScript = newScript("retract")
	namesScript   = newScript("names")
	forgetScript  = newScript("forget")
	claimScript   = newScript("claim")
	settleScript  = newScript("settle")
	dropScript    = newScript("drop")
	lastScript    = newScript("last")
	uncountScript = newScript("uncount")
)

// newScript makes a script out of a file.
func newScript(file string) *script {
	make := func(history bool) func() lua {
		return sync.OnceValue(func() lua {
			source := luaText(file, history)
			sum := sha1.Sum([]byte(source))
			return lua{source: source, sha: hex.EncodeToString(sum[:])}
		})
	}
	return &script{recording: make(true), quiet: make(false)}
}

// variant is the script for a store that keeps a history or not.
func (sc *script) variant(recording bool) lua {
	if recording {
		return sc.recording()
	}
	return sc.quiet()
}

var (
	included   = regexp.MustCompile(`(?m)^ *-- include (\w+)$`)
	settingUse = regexp.MustCompile(`\bconfig\('(\w+)'\)`)
	fieldUse   = regexp.MustCompile(`\brow\.(\w+)`)
	comment    = regexp.MustCompile(`(?m)^\s*--.*\n`)
)

// luaText returns a file without its comments, and with what the program knows:
// the files that it includes, the range and the default of a setting, the place of
// a field, and whether there is a history.
func luaText(file string, history bool) string {
	if file == "history" && !history {
		return ""
	}
	text, err := luaFiles.ReadFile("lua/" + file + ".lua")
	if err != nil {
		panic(err) // it is embedded
	}
	whole := included.ReplaceAllStringFunc(string(text), func(line string) string {
		return luaText(included.FindStringSubmatch(line)[1], history)
	})
	whole = settingUse.ReplaceAllStringFunc(whole, func(use string) string {
		s := defaults[settingUse.FindStringSubmatch(use)[1]]
		return fmt.Sprintf("valid(settings.%s, %d, %d, %v)", s.Key, s.Min, s.Max, s.Default)
	})
	whole = fieldUse.ReplaceAllStringFunc(whole, func(use string) string {
		return fmt.Sprintf("row[%d]", 1+slices.Index(fieldNames[:], fieldUse.FindStringSubmatch(use)[1]))
	})
	whole = strings.ReplaceAll(whole, "FIELDS", "'"+strings.Join(fieldNames[:], "', '")+"'")
	whole = strings.ReplaceAll(whole, "if HISTORY", "if "+strconv.FormatBool(history))
	return comment.ReplaceAllString(whole, "")
}

// defaults are the settings by key.
var defaults = func() map[string]leasehold.Setting {
	byKey := map[string]leasehold.Setting{}
	for _, s := range leasehold.DefaultSettings() {
		byKey[s.Key] = s
	}
	return byKey
}()

// command is sent once only: the client must not repeat a script whose answer was
// lost, because it may have happened.
type command struct{ *redis.Cmd }

// NoRetry tells the client.
func (command) NoRetry() bool { return true }

// textsCommand is a command whose answer is a list of strings.
type textsCommand struct{ *redis.StringSliceCmd }

// NoRetry tells the client.
func (textsCommand) NoRetry() bool { return true }

// eval runs a script.
func eval(ctx context.Context, client redis.UniversalClient, l lua, args []any) (any, error) {
	var c command
	runScript(ctx, client, l, args, func() redis.Cmder {
		c = command{redis.NewCmd(ctx, args...)}
		return c
	})
	return c.Result()
}

// evalTexts runs a script that answers a list of strings. One that is not there is
// empty.
func evalTexts(ctx context.Context, client redis.UniversalClient, l lua, args []any) ([]string, error) {
	var c textsCommand
	runScript(ctx, client, l, args, func() redis.Cmder {
		c = textsCommand{redis.NewStringSliceCmd(ctx, args...)}
		return c
	})
	return c.Result()
}

// runScript runs a script by its hash, and sends the source where the server does not
// know it: the first time, and after SCRIPT FLUSH or a failover. Args are those of
// evalsha, with room for the first two. The error is that of the last command.
func runScript(ctx context.Context, client redis.UniversalClient, l lua, args []any, newCommand func() redis.Cmder) {
	args[0], args[1] = "evalsha", l.sha
	if err := client.Process(ctx, newCommand()); err != nil && redis.HasErrorPrefix(err, "NOSCRIPT") {
		args[0], args[1] = "eval", l.source
		_ = client.Process(ctx, newCommand())
	}
}
