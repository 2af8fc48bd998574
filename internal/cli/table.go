package cli

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// table is aligned text for people. Columns whose heading begins with > are
// numbers, and end at the right.
type table struct {
	heading []string
	rows    [][]string
}

func newTable(heading ...string) *table { return &table{heading: heading} }

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

// String returns the heading and the rows, a line each.
func (t *table) String() string { return string(t.bytes()) }

func (t *table) bytes() []byte {
	width := make([]int, len(t.heading))
	right := make([]bool, len(t.heading))
	heading := make([]string, len(t.heading))
	for i, text := range t.heading {
		heading[i], right[i] = strings.CutPrefix(text, ">")
	}
	rows := append([][]string{heading}, t.rows...)
	for _, row := range rows {
		for i := range row {
			row[i] = plain(row[i])
			width[i] = max(width[i], utf8.RuneCountInString(row[i]))
		}
	}
	size := 0
	for _, w := range width {
		size += len(rows) * (w + 2)
	}
	text := make([]byte, 0, size)
	for _, row := range rows {
		for i, cell := range row {
			gap := width[i] - utf8.RuneCountInString(cell)
			if right[i] {
				text = appendSpaces(text, gap)
			}
			text = append(text, cell...)
			if !right[i] {
				text = appendSpaces(text, gap)
			}
			text = append(text, "  "...)
		}
		text = append(bytes.TrimRight(text, " "), '\n')
	}
	return text
}

func appendSpaces(text []byte, n int) []byte {
	const spaces = "                                "
	for ; n > len(spaces); n -= len(spaces) {
		text = append(text, spaces...)
	}
	return append(text, spaces[:n]...)
}

// write prints the table.
func (t *table) write(w io.Writer) error {
	_, err := w.Write(t.bytes())
	return written(err)
}

// plain makes a cell of s: never empty, and without what a terminal would obey.
func plain(s string) string {
	if s == "" {
		return "-"
	}
	if isPlain(s) {
		return s
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return '?'
		}
		return r
	}, s)
}

func isPlain(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] >= 0x7f {
			return false
		}
	}
	return true
}

// written says what a failure to write was about.
func written(err error) error {
	if err != nil {
		return fmt.Errorf("write the answer: %w", err)
	}
	return nil
}
