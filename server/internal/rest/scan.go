package rest

import "strings"

// EachField calls f for every field of an object that is known to be valid.
func EachField(data []byte, f func(key, value []byte) error) error {
	i := skipSpace(data, 0) + 1
	for {
		i = skipSpace(data, i)
		switch data[i] {
		case '}':
			return nil
		case ',':
			i = skipSpace(data, i+1)
		}
		end := endOf(data, i)
		key := data[i:end]
		i = skipSpace(data, skipSpace(data, end)+1) // over the colon
		end = endOf(data, i)
		if err := f(key, data[i:end]); err != nil {
			return err
		}
		i = end
	}
}

// EachItem calls f for every item of a list that is known to be valid.
func EachItem(data []byte, f func(item []byte) error) error {
	i := skipSpace(data, 0) + 1
	for {
		i = skipSpace(data, i)
		switch data[i] {
		case ']':
			return nil
		case ',':
			i = skipSpace(data, i+1)
		}
		end := endOf(data, i)
		if err := f(data[i:end]); err != nil {
			return err
		}
		i = end
	}
}

func skipSpace(data []byte, i int) int {
	for i < len(data) && (data[i] == ' ' || data[i] == '\t' || data[i] == '\n' || data[i] == '\r') {
		i++
	}
	return i
}

// endOf returns where the value that begins at i ends.
func endOf(data []byte, i int) int {
	for depth := 0; i < len(data); i++ {
		switch data[i] {
		case '"':
			i = endOfString(data, i)
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		default: // a number or a word, or what stands between values
			for depth == 0 && i+1 < len(data) && !strings.ContainsRune(" \t\n\r,}]", rune(data[i+1])) {
				i++
			}
		}
		if depth == 0 {
			return i + 1
		}
	}
	return len(data)
}

// endOfString returns where the closing quotation mark is.
func endOfString(data []byte, i int) int {
	for i++; data[i] != '"'; i++ {
		if data[i] == '\\' {
			i++
		}
	}
	return i
}
