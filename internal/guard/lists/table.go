package lists

import (
	"bytes"
	"errors"
	"fmt"
)

// layout is how a text says its addresses: one on each line, or in a column of a table.
type layout struct {
	known     bool
	headed    bool // a table whose header is behind us
	separator byte // 0: no table
	column    int  // from 0
}

var errTwoColumns = errors.New("two columns have addresses: write one on each line, or say which column has them")

// learn finds the layout from the first line that has an address. It reports whether the
// line is the header of a table instead. column is the one to take, from 1, or 0 to find
// it.
func (l *layout) learn(line []byte, column int) (header bool, err error) {
	l.separator = 0
	for _, s := range []byte(",\t") {
		if bytes.IndexByte(line, s) >= 0 {
			l.separator = s
			break
		}
	}
	if l.separator != 0 && !l.headed && isHeader(line, l.separator) {
		l.headed = true
		return true, nil
	}
	if l.separator == 0 || column > 0 {
		l.column = max(column-1, 0)
		text, err := l.entry(line)
		if err == nil {
			_, err = parseEntry(text)
		}
		l.known = err == nil
		return false, err
	}
	for i := 0; ; i++ {
		text, ok := field(line, l.separator, i)
		if !ok {
			break
		}
		if _, err := parseEntry(text); err != nil {
			continue
		}
		if l.known {
			l.known = false
			return false, errTwoColumns
		}
		l.known, l.column = true, i
	}
	if !l.known {
		return false, errors.New("no column has an address, a prefix or a range")
	}
	return false, nil
}

// entry returns the part of a line that has the address.
func (l *layout) entry(line []byte) ([]byte, error) {
	if l.separator == 0 {
		return line, nil
	}
	text, ok := field(line, l.separator, l.column)
	if !ok {
		return nil, fmt.Errorf("the line has no column %d", l.column+1)
	}
	return text, nil
}

// isHeader reports whether a line of a table names its columns. A name begins with a
// letter or is not there, and has nothing that a mistyped address could have.
func isHeader(line []byte, separator byte) bool {
	for i := 0; ; i++ {
		text, ok := field(line, separator, i)
		if !ok {
			return i > 0
		}
		if len(text) == 0 {
			continue
		}
		if c := text[0] | 0x20; c != '_'|0x20 && (c < 'a' || c > 'z') || bytes.ContainsAny(text, ":/") {
			return false
		}
	}
}

// field returns a field of a table's line, counted from 0, without quotes and the blanks
// around it. A quote that is not closed ends with the line and makes no field.
func field(line []byte, separator byte, column int) (text []byte, ok bool) {
	quoted, start := false, 0
	for i := 0; i <= len(line); i++ {
		switch {
		case i < len(line) && line[i] == '"':
			quoted = !quoted
		case i < len(line) && (quoted || line[i] != separator):
		case quoted:
			return nil, false
		case column == 0:
			text = bytes.TrimSpace(line[start:i])
			if n := len(text); n >= 2 && text[0] == '"' && text[n-1] == '"' {
				text = bytes.TrimSpace(text[1 : n-1])
			}
			return text, true
		default:
			column--
			start = i + 1
		}
	}
	return nil, false
}
