package main

import (
	"context"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/azure/catalog"
	azure "github.com/leasehold/leasehold/azure/server"
	"github.com/leasehold/leasehold/azure/sign"
	"github.com/leasehold/leasehold/internal/serve"
	"github.com/leasehold/leasehold/server/auth"
	"github.com/spf13/cobra"
)

func newBlob(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "blob", GroupID: groupOperate, Args: exactArgs(0),
		Short: "Look after the blobs of the Azure Blob API",
		Long: "Look after the blobs of the Azure Blob API. To read and write them, point an Azure\n" +
			"SDK or tool at the connection string that leasehold serve prints.",
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newBlobFsck(a), newBlobReset(a), newBlobSnapshots(a), newBlobExpire(a))
	return cmd
}

const fsckHelp = `Check the blobs of a server that is not running: that rows and content agree,
that every byte is what was written, and that nothing is left over. Every byte is
read, so this takes a while.

--repair sets right what can be set right without losing data. Exit code 0 if all
is well or was repaired, 1 if something is wrong.`

func newBlobFsck(a *app) *cobra.Command {
	var data string
	var repair bool
	cmd := &cobra.Command{
		Use: "fsck", Args: exactArgs(0), Short: "Check blobs for damage", Long: fsckHelp,
		Example: "  leasehold blob fsck --data /var/lib/leasehold\n  leasehold blob fsck --repair",
	}
	cmd.Flags().StringVar(&data, "data", serve.Defaults().Data, "data directory of the server")
	cmd.Flags().BoolVar(&repair, "repair", false, "set right what can be set right")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		ctx, stop := interruptible(cmd.Context())
		defer stop()
		return withCatalog(ctx, data, func(c *catalog.Catalog) error {
			report, err := c.Check(ctx, repair)
			if err != nil {
				return err
			}
			return a.printFsck(report)
		})
	}
	return cmd
}

// withCatalog uses the blobs of a server that is not running.
func withCatalog(ctx context.Context, data string, use func(*catalog.Catalog) error) error {
	err := serve.WithCatalog(ctx, data, use)
	return adviseFile(err, stopFirst, "--data names the data directory of the server")
}

// printFsck fails if something is still wrong.
func (a *app) printFsck(r catalog.Report) error {
	wrong := r.More > 0
	for _, p := range r.Problems {
		wrong = wrong || !p.Repaired
	}
	if a.json {
		if err := a.printJSON(r); err != nil {
			return err
		}
		return exitIf(wrong, exitConflict)
	}
	for _, p := range r.Problems {
		fmt.Fprintln(a.out, p)
	}
	if r.More > 0 {
		fmt.Fprintf(a.out, "and %d more\n", r.More)
	}
	verdict := "all is well"
	switch {
	case wrong:
		verdict = fmt.Sprintf("%d problems", int64(len(r.Problems))+r.More)
	case len(r.Problems) > 0:
		verdict = fmt.Sprintf("%d problems, all repaired", len(r.Problems))
	}
	_, err := fmt.Fprintf(a.out, "%d containers, %d blobs, %d snapshots, %d chunks with %d bytes: %s\n",
		r.Containers, r.Blobs, r.Snapshots, r.Chunks, r.Bytes, verdict)
	if err != nil {
		return err
	}
	return exitIf(wrong, exitConflict)
}

const resetHelp = `Delete all containers and blobs, leased or not: of one account of a running
server, or with --data of all accounts of one that is not running. Leases of the
JSON API and the Go library stay. There is no way back, so --yes is needed.`

func newBlobReset(a *app) *cobra.Command {
	var data, account string
	var yes bool
	cmd := &cobra.Command{
		Use: "reset", Args: exactArgs(0), Short: "Delete all containers and blobs", Long: resetHelp,
		Example: "  leasehold blob reset --yes\n  leasehold blob reset --yes --data /var/lib/leasehold",
	}
	cmd.Flags().StringVar(&account, "account", defaultAccount, "account of the running server")
	cmd.Flags().StringVar(&data, "data", "", "data directory of a server that is not running")
	cmd.Flags().BoolVar(&yes, "yes", false, "really delete everything")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		ctx, stop := interruptible(cmd.Context())
		defer stop()
		err := refuseEmpty(cmd, "data", "account") // --data of an unset variable must not reset the running server
		switch {
		case err != nil:
			return err
		case !yes:
			return usagef("this deletes every container and blob; say --yes to do it")
		case data != "":
			return withCatalog(ctx, data, func(c *catalog.Catalog) error { return c.Reset(ctx, "") })
		}
		_, err = a.blobCall(ctx, http.MethodDelete, []string{account}, "restype=service&comp=reset", nil)
		return err
	}
	return cmd
}

func newBlobSnapshots(a *app) *cobra.Command {
	var account string
	cmd := &cobra.Command{
		Use: "snapshots CONTAINER/BLOB", Args: exactArgs(1),
		Short: "List a blob's snapshots and where they come from",
		Long: "List a blob's snapshots, oldest first: the blob's ETag when each was taken, its size,\n" +
			"how many bytes deleting it would free, what it was restored from, and when it goes.",
		Example: "  leasehold blob snapshots backups/db.tar",
	}
	cmd.Flags().StringVar(&account, "account", defaultAccount, "storage account")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		path, err := blobPath(account, args[0])
		if err != nil {
			return err
		}
		body, err := a.blobCall(cmd.Context(), http.MethodGet, path, "comp=lineage", nil)
		if err != nil {
			return err
		}
		var l azure.Lineage
		if err := json.Unmarshal(body, &l); err != nil {
			return fmt.Errorf("the server's answer cannot be read: %w", err)
		}
		if a.json {
			return a.printJSON(l)
		}
		return a.printLineage(l)
	}
	return cmd
}

func (a *app) printLineage(l azure.Lineage) error {
	rows := l.Snapshots
	if l.Base != nil {
		rows = append(rows, *l.Base)
	}
	for _, e := range rows {
		name := e.Snapshot
		if name == "" {
			name = "(the blob itself)           "
		}
		line := fmt.Sprintf("%s  %s  %d bytes, %d of its own", name, e.ETag, e.Size, e.Own)
		if e.RestoredFrom != "" {
			line += ", restored from " + e.RestoredFrom
		}
		if e.Expires != nil {
			line += ", goes " + e.Expires.Format(time.RFC3339)
		}
		if _, err := fmt.Fprintln(a.out, line); err != nil {
			return err
		}
	}
	return nil
}

func newBlobExpire(a *app) *cobra.Command {
	var account string
	var after time.Duration
	cmd := &cobra.Command{
		Use: "expire CONTAINER/BLOB SNAPSHOT", Args: exactArgs(2),
		Short: "Let a snapshot go by itself",
		Long:  "Let a snapshot go by itself after a while, or never with --after 0.",
		Example: "  leasehold blob expire backups/db.tar 2026-01-31T12:00:00.0000000Z --after 720h\n" +
			"  leasehold blob expire backups/db.tar 2026-01-31T12:00:00.0000000Z --after 0",
	}
	cmd.Flags().StringVar(&account, "account", defaultAccount, "storage account")
	cmd.Flags().Var(durationFlag{value: &after}, "after", "how long from now; 0: never")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		path, err := blobPath(account, args[0])
		switch {
		case err != nil:
			return err
		case !cmd.Flags().Changed("after"):
			return usagef("wants --after, such as --after 720h, or --after 0 for never")
		case after < 0 || after > 0 && after < time.Millisecond:
			return usagef("--after is %v; want a time from now, or 0 for never", after)
		}
		header := http.Header{"X-Ms-Expiry-Option": {"NeverExpire"}}
		if after > 0 {
			header.Set("X-Ms-Expiry-Option", "RelativeToNow")
			header.Set("X-Ms-Expiry-Time", strconv.FormatInt(after.Milliseconds(), 10))
		}
		_, err = a.blobCall(cmd.Context(), http.MethodPut, path, "comp=expiry&snapshot="+url.QueryEscape(args[1]), header)
		return err
	}
	return cmd
}

// blobPath returns the path of a blob, in parts.
func blobPath(account, name string) ([]string, error) {
	container, blob, ok := strings.Cut(name, "/")
	if !ok || container == "" || blob == "" {
		return nil, usagef("%q names no blob; want CONTAINER/BLOB", name)
	}
	return []string{account, container, blob}, nil
}

var defaultAccount = sign.Development().Name

// maxBlobAnswer bounds what is read of an answer.
const maxBlobAnswer = 16 << 20

// blobCall calls the Azure Blob API of the running server through the paths on its
// main port, where the user's token counts.
func (a *app) blobCall(ctx context.Context, method string, path []string, query string, header http.Header) ([]byte, error) {
	if !a.storeIsServer() {
		return nil, usagef("blobs are asked of a running server; --store must be its http:// address")
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	for i, part := range path {
		path[i] = url.PathEscape(part)
	}
	answer, err := a.callServer(ctx, method, auth.BlobPath+strings.Join(path, "/")+"?"+query, header)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxBlobAnswer))
	if err != nil {
		return nil, &leasehold.Error{Reason: leasehold.ReasonUnavailable, Op: "blob", Store: "remote", Cause: err}
	}
	if answer.StatusCode/100 != 2 {
		return nil, blobRefusal(answer, body)
	}
	return body, nil
}

// blobRefusal returns the server's refusal, in its words.
func blobRefusal(answer *http.Response, body []byte) error {
	switch answer.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden:
		return &leasehold.Error{Reason: leasehold.ReasonUnauthenticated, Op: "blob", Store: "remote"}
	}
	var e struct{ Code, Message string }
	if xml.Unmarshal(body, &e) != nil || e.Code == "" {
		return &leasehold.Error{Reason: leasehold.ReasonUnavailable, Op: "blob", Store: "remote",
			Cause: fmt.Errorf("something answered %s that is no Azure Blob API; does the server have one?", answer.Status)}
	}
	code := exitConflict
	switch answer.StatusCode {
	case http.StatusBadRequest:
		code = exitUsage
	case http.StatusNotFound:
		code = exitNotFound
	}
	return &exitError{code, e.Code + ": " + plainMessage(e.Message)}
}

// plainMessage returns a message of the Azure Blob API in one line, without the
// id and the time of the request.
func plainMessage(message string) string {
	var kept []string
	for line := range strings.SplitSeq(message, "\n") {
		if !strings.HasPrefix(line, "RequestId:") && !strings.HasPrefix(line, "Time:") {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, " ")
}
