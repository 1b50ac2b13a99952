// Package sqltx makes a leasehold.Store out of short SQL transactions: any database
// that locks rows can keep leases. A database is a DB, which knows SQL and no rules.
//
// Each operation is one step: the database locks the resource's row, reads the time,
// lets package machine decide, and writes the next row, the history records and the
// token in the same transaction. The database's clock decides, and is read only when
// the lock is held: a wait for the lock takes time too.
//
// A Swapper saves the first half. The store knows for half a second what it has
// written itself, decides on that, and the database writes only if the row is still
// the same. What others did meanwhile makes it fail, and the operation takes the
// longer way.
//
// What can go wrong, and what is done about it:
//
//   - A lost answer. A DB finds out whether its transaction was committed. A Swap is
//     found by the version that it wrote: the next step locks the row and looks. If it
//     cannot be found out in time, the answer is ErrUnknown.
//   - A renewal whose commit takes until after the old end. Others may have seen the
//     lease as expired by then, so it stays so, and the caller is told that it is lost.
//   - A caller who leaves. Operations under way go on without their caller, for a few
//     seconds at most. A grant that then nobody receives and whose id was not
//     proposed is released.
//   - A waiter on another server. A waiter whose try fails notes in the row until when
//     somebody waits; a release that finds that note notifies.
//
// A lease is on one resource: claims and notes are refused as ErrUnsupported before any
// call, and AcquireRequest.Sequence is ignored.
package sqltx
