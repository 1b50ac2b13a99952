package sqlite

import (
	"context"
	"fmt"

	"github.com/leasehold/leasehold/engine"
	"zombiezen.com/go/sqlite"
)

// Query reads a module's tables, on a connection that cannot write. Statements
// stay prepared, so a module puts its values into arguments.
func (j *journal) Query(ctx context.Context, sql string, args []any, row func(engine.Columns) error) error {
	var stop error // row's own, to be returned as it is
	err := j.read(ctx, &j.readers, func(conn *sqlite.Conn) error {
		stmt, err := conn.Prepare(sql)
		if err != nil {
			return err
		}
		if err := bindArgs(stmt, args); err != nil {
			return err
		}
		return each(stmt, func() error {
			stop = row(columns{stmt})
			return stop
		})
	})
	if stop != nil {
		return stop
	}
	return err
}

// bindArgs binds what a engine.Statement may carry.
func bindArgs(s *sqlite.Stmt, args []any) error {
	if want := s.BindParamCount(); len(args) != want {
		return fmt.Errorf("the statement wants %d arguments and has %d", want, len(args))
	}
	for i, arg := range args {
		switch v := arg.(type) {
		case nil:
			s.BindNull(i + 1)
		case int64:
			s.BindInt64(i+1, v)
		case float64:
			s.BindFloat(i+1, v)
		case string:
			s.BindText(i+1, v)
		case []byte:
			s.BindBytes(i+1, v)
		case bool:
			s.BindBool(i+1, v)
		default:
			return fmt.Errorf("argument %d is a %T; want int64, float64, string, []byte, bool or nil", i+1, arg)
		}
	}
	return nil
}

// columns reads one result row. What it returns stays valid after the row.
type columns struct{ stmt *sqlite.Stmt }

func (c columns) Int64(i int) int64 { return c.stmt.ColumnInt64(i) }
func (c columns) Text(i int) string { return c.stmt.ColumnText(i) }
func (c columns) IsNull(i int) bool { return c.stmt.ColumnIsNull(i) }

func (c columns) Bytes(i int) []byte {
	b := make([]byte, c.stmt.ColumnLen(i))
	return b[:c.stmt.ColumnBytes(i, b)]
}
