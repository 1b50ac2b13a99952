package redis

import (
	"context"
	"crypto/sha1"
	"embed"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/leasehold/leasehold"
	"github.com/redis/go-redis/v9"
)

//go:embed lua/*.lua
var luaFiles embed.FS

// script is a Lua script and the hash by which the server knows it.
type script struct {
	source, sha string
	quiet       *script // the same for a store without a history
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
	sc := scriptOf(luaText(file, "history"))
	sc.quiet = scriptOf(luaText(file, "nohistory"))
	return sc
}

func scriptOf(source string) *script {
	sum := sha1.Sum([]byte(source))
	return &script{source: source, sha: hex.EncodeToString(sum[:])}
}

var (
	included   = regexp.MustCompile(`(?m)^ *-- include (\w+)$`)
	settingUse = regexp.MustCompile(`\bconfig\('(\w+)'\)`)
	fieldUse   = regexp.MustCompile(`\brow\.(\w+)`)
	comment    = regexp.MustCompile(`(?m)^\s*--.*\n`)
)

// luaText returns a file without its comments, and with what the program knows:
// the files that it includes, the range and the default of a setting, the place of
// a field. History is the file that is included as history.
func luaText(file, history string) string {
	text, err := luaFiles.ReadFile("lua/" + file + ".lua")
	if err != nil {
		panic(err) // it is embedded
	}
	whole := included.ReplaceAllStringFunc(string(text), func(line string) string {
		name := included.FindStringSubmatch(line)[1]
		if name == "history" {
			name = history
		}
		return luaText(name, history)
	})
	whole = settingUse.ReplaceAllStringFunc(whole, func(use string) string {
		s := defaults[settingUse.FindStringSubmatch(use)[1]]
		return fmt.Sprintf("valid(settings.%s, %d, %d, %v)", s.Key, s.Min, s.Max, s.Default)
	})
	whole = fieldUse.ReplaceAllStringFunc(whole, func(use string) string {
		return fmt.Sprintf("row[%d]", 1+slices.Index(fieldNames[:], fieldUse.FindStringSubmatch(use)[1]))
	})
	whole = strings.ReplaceAll(whole, "FIELDS", "'"+strings.Join(fieldNames[:], "', '")+"'")
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

// variant is the script for a store that keeps a history or not.
func (sc *script) variant(recording bool) *script {
	if recording {
		return sc
	}
	return sc.quiet
}

// eval runs a script by its hash, and sends the source where the server does not
// know it: the first time, and after SCRIPT FLUSH or a failover.
func eval(ctx context.Context, client redis.UniversalClient, sc *script, keys []string, args []any) (any, error) {
	result, err := send(ctx, client, "evalsha", sc.sha, keys, args)
	if redis.HasErrorPrefix(err, "NOSCRIPT") {
		return send(ctx, client, "eval", sc.source, keys, args)
	}
	return result, err
}

func send(ctx context.Context, client redis.UniversalClient, name, script string, keys []string, args []any) (any, error) {
	all := make([]any, 0, 3+len(keys)+len(args))
	all = append(all, name, script, len(keys))
	for _, key := range keys {
		all = append(all, key)
	}
	c := command{redis.NewCmd(ctx, append(all, args...)...)}
	_ = client.Process(ctx, c) // the error is the command's, too
	return c.Result()
}
