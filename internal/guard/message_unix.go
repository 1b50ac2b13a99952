//go:build unix

package guard

import (
	"encoding/json"
	"os"
	"time"
)

// orderKind is what the guardian has to do.
type orderKind string

const (
	orderPlan     orderKind = "plan"     // the first: what to run, and until when
	orderGo       orderKind = "go"       // let the command start
	orderDeadline orderKind = "deadline" // the lease was renewed, or is being broken
	orderSignal   orderKind = "signal"   // send a signal to the group
	orderStop     orderKind = "stop"     // SIGTERM now, SIGKILL when the grace is over
)

// order is a message from the runner to the guardian.
type order struct {
	Kind     orderKind
	Deadline deadline      `json:",omitzero"`
	Signal   int           `json:",omitzero"`
	Path     string        `json:",omitzero"`
	Args     []string      `json:",omitzero"`
	Grace    time.Duration `json:",omitzero"`
}

// reportKind is what happened to the command.
type reportKind string

const (
	reportBorn    reportKind = "born"    // the group exists; the command has not started
	reportRuns    reportKind = "runs"    // the command has started
	reportFailed  reportKind = "failed"  // the command cannot be started
	reportStopped reportKind = "stopped" // it was stopped, as by Ctrl-Z
	reportLate    reportKind = "late"    // the deadline passed; SIGTERM was sent
	reportStuck   reportKind = "stuck"   // the command cannot be stopped; standard error says why
	reportEnded   reportKind = "ended"   // the command itself has ended
	reportEmpty   reportKind = "empty"   // the group is empty: the last report
)

// report is a message from the guardian to the runner.
type report struct {
	Kind   reportKind
	PID    int    `json:",omitzero"` // of the command and of its group
	Signal int    `json:",omitzero"` // that stopped it
	Status uint32 `json:",omitzero"` // as wait(2) has it
	Errno  uint32 `json:",omitzero"`
	Text   string `json:",omitzero"`
}

// send writes one message. A reader that is gone shows when its pipe closes.
func send(f *os.File, message any) { _ = json.NewEncoder(f).Encode(message) }

// receive returns the messages of the other side. The channel closes with the
// pipe, most often because that process has ended.
func receive[T any](f *os.File) <-chan T {
	c := make(chan T)
	go func() {
		defer close(c)
		for d := json.NewDecoder(f); ; {
			var message T
			if d.Decode(&message) != nil {
				return
			}
			c <- message
		}
	}()
	return c
}
