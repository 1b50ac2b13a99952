package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// many reports whether the rows go in one round trip: of a move or a force-release,
// during which others wait. Behind a pooler, statements of a batch cannot be prepared.
func (t *transaction) many() bool {
	return len(t.write.Rows) > 1 && !t.write.Grant && t.write.Waiting == 0 && t.mode != pgx.QueryExecModeExec
}

// storeMany writes all rows in one round trip. It replaces what is there.
func (t *transaction) storeMany(ctx context.Context) error {
	w := &t.write
	batch := &pgx.Batch{}
	for _, row := range w.Rows {
		args := append(rowArguments(row, false, w.Version), encodeLimit(w.Until), t.notify(row))
		batch.Queue(t.sql["put"], args...).QueryRow(func(answer pgx.Row) error {
			var token, inTime int64
			var notified pgtype.Text
			return answer.Scan(&token, &inTime, &notified)
		})
	}
	return t.SendBatch(ctx, batch).Close()
}
