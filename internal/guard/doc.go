// Package guard runs a command that must not outlive a lease, even when the
// process that renews the lease stops, dies or hangs.
//
// Three processes take part, all of one program file:
//
//   - The runner holds the lease. It sends the guardian each new deadline.
//   - The guardian is the parent of the command. It knows nothing of leases: it
//     has a deadline, a time to send SIGTERM and a later one to send SIGKILL to
//     the command's process group, and keeps to it whatever the runner does.
//   - The command leads a process group of its own. It is started by a third
//     role of the same program, the launcher, which waits until the runner knows
//     the group and the group has the terminal, and then becomes the command.
//
// Runner and guardian watch each other. When the runner is gone, its end of the
// pipe closes and the guardian ends the command: nobody renews any more. When the
// guardian is gone, the runner kills the group (on Linux the kernel kills the
// command as well). When the guardian does not act at the deadline, the runner
// does.
//
// Deadlines are instants of one clock that all processes of a machine share and
// that, where the system has one, goes on while the machine sleeps. So it does not
// matter how late a message arrives.
//
// A command that changes its user, as sudo does, may not be signalled by a
// guardian without privileges. Each signal that should end it is therefore
// checked: if the command runs on, standard error says which processes do and
// why, Command.Stuck is called in the runner, and SIGKILL is repeated until the
// group is empty. Until then Run does not return, so the runner can go on renewing
// the lease. When the runner is gone as well nobody can: the guardian says so, and
// waits for the end.
//
// The command counts as ended when its process group is empty: background
// processes that it left there are waited for, and are stopped like the command
// itself when the lease is lost. A process that leaves the group (setsid, a
// daemon, the jobs of an interactive shell) leaves the guardian's reach: it is
// neither waited for nor killed, and only a fencing token can stop its work.
package guard
