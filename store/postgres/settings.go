package postgres

import (
	"bytes"
	"encoding/json"

	"github.com/jackc/pgx/v5/pgtype"
)

// decodeSettings reads the settings as control.sql returns them.
func decodeSettings(text pgtype.Text) map[string]any {
	stored := map[string]any{}
	if !text.Valid {
		return stored
	}
	decoder := json.NewDecoder(bytes.NewReader([]byte(text.String)))
	decoder.UseNumber()
	var raw map[string]any
	_ = decoder.Decode(&raw) // the server wrote it
	for key, value := range raw {
		if number, ok := value.(json.Number); ok {
			if n, err := number.Int64(); err == nil {
				stored[key] = n
			}
			continue
		}
		stored[key] = value
	}
	return stored
}

// encodeSetting is the type and the value of a setting as the table keeps it.
func encodeSetting(value any) (of string, number int64) {
	switch v := value.(type) {
	case bool:
		if v {
			return "boolean", 1
		}
		return "boolean", 0
	case int64:
		return "integer", v
	}
	return "integer", 0 // there is no other type
}
