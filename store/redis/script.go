package redis

import (
	"context"
	"crypto/sha1"
	"embed"
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"

	"github.com/leasehold/leasehold"
	"github.com/redis/go-redis/v9"
)

//go:embed lua/*.lua
var luaFiles embed.FS

// script is a Lua script and the hash by which the server knows it.
type script struct {
	source, sha string
	quiet       *script // the same without what is for the history; nil: there is none
}

// The scripts, one an operation.
var (
	acquireScript  = newScript("lib", "acquire")
	renewScript    = newScript("lib", "renew")
	releaseScript  = newScript("lib", "release")
	breakScript    = newScript("lib", "break")
	changeScript   = newScript("lib", "change")
	transferScript = newScript("lib", "transfer")
	statusScript   = newScript("lib", "status")
	listScript     = newScript("lib", "list")
	expireScript   = newScript("lib", "expire")
	purgeScript    = newScript("lib", "purge")
	failedScript   = newScript("lib", "failed")
	settingScript  = newScript("lib", "setting")

	// Those of the indexes on a Cluster.
	admitScript   = newScript("apart", "admit")
	retractScript = newScript("apart", "retract")
	namesScript   = newScript("apart", "names")
	forgetScript  = newScript("apart", "forget")
	claimScript   = newScript("apart", "claim")
	settleScript  = newScript("apart", "settle")
	dropScript    = newScript("apart", "drop")
	lastScript    = newScript("apart", "last")
)

// newScript makes a script out of a file and the functions of a library that it
// uses.
func newScript(library, file string) *script {
	shared, text := luaText(library), luaText(file)
	sc := scriptOf(joinScript(shared, text))
	sc.quiet = scriptOf(joinScript(withoutHistory(shared), withoutHistory(text)))
	return sc
}

// joinScript puts the functions that the text uses before it.
func joinScript(library, text string) string {
	blocks := strings.Split(strings.TrimSpace(library), "\n\n")
	for i := len(blocks) - 1; i >= 0; i-- { // functions use only those before them
		name := functionName.FindStringSubmatch(blocks[i])
		if name == nil || regexp.MustCompile(`\b`+name[1]+`\(`).MatchString(text) {
			text = blocks[i] + "\n\n" + text
		}
	}
	return comment.ReplaceAllString(withDefaults(text), "")
}

func luaText(file string) string {
	text, err := luaFiles.ReadFile("lua/" + file + ".lua")
	if err != nil {
		panic(err) // it is embedded
	}
	return string(text)
}

var (
	functionName = regexp.MustCompile(`(?m)^local function (\w+)\(`)
	settingUse   = regexp.MustCompile(`\bconfig\('(\w+)'\)`)
	historyUse   = regexp.MustCompile(`(?m)^ *(record|record_end|save_open|if recording then call)\(.*\n`)
	comment      = regexp.MustCompile(`(?m)^\s*--.*\n`)
)

// withoutHistory leaves out statements that are for the history.
func withoutHistory(text string) string { return historyUse.ReplaceAllString(text, "") }

// withDefaults adds the default to every setting that a script uses: defaults
// stand only in package leasehold.
func withDefaults(text string) string {
	defaults := map[string]any{}
	for _, s := range leasehold.DefaultSettings() {
		defaults[s.Key] = s.Default
	}
	return settingUse.ReplaceAllStringFunc(text, func(use string) string {
		key := settingUse.FindStringSubmatch(use)[1]
		return fmt.Sprintf("config('%s', %v)", key, defaults[key])
	})
}

func scriptOf(source string) *script {
	sum := sha1.Sum([]byte(source))
	return &script{source: source, sha: hex.EncodeToString(sum[:])}
}

// command is sent once only: the client must not repeat a script whose answer was
// lost, because it may have happened.
type command struct{ *redis.Cmd }

// NoRetry tells the client.
func (command) NoRetry() bool { return true }

// variant is the script for a store that keeps a history or not.
func (sc *script) variant(recording bool) *script {
	if recording || sc.quiet == nil {
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
