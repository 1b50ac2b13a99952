package redis

import (
	"context"
	"crypto/sha1"
	"embed"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/leasehold/leasehold"
	"github.com/redis/go-redis/v9"
)

//go:embed lua/*.lua
var luaFiles embed.FS

// script is a Lua script and the hash by which the server knows it.
type script struct{ source, sha string }

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

// newScript joins files to one script.
func newScript(files ...string) *script {
	var b strings.Builder
	b.WriteString(defaultsTable())
	for _, file := range files {
		text, err := luaFiles.ReadFile("lua/" + file + ".lua")
		if err != nil {
			panic(err) // it is embedded
		}
		b.Write(text)
		b.WriteByte('\n')
	}
	return scriptOf(b.String())
}

func scriptOf(source string) *script {
	sum := sha1.Sum([]byte(source))
	return &script{source: source, sha: hex.EncodeToString(sum[:])}
}

// defaultsTable tells the scripts the defaults of the settings, which stand only
// in package leasehold.
func defaultsTable() string {
	var b strings.Builder
	b.WriteString("local defaults = {")
	for _, s := range leasehold.DefaultSettings() {
		fmt.Fprintf(&b, "%s = %v, ", s.Key, s.Default)
	}
	b.WriteString("}\n")
	return b.String()
}

// command is sent once only: the client must not repeat a script whose answer was
// lost, because it may have happened.
type command struct{ *redis.Cmd }

// NoRetry tells the client.
func (command) NoRetry() bool { return true }

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
