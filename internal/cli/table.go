package cli

import (
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
func (t *table) String() string {
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
	var text strings.Builder
	for _, row := range rows {
		line := ""
		for i, cell := range row {
			gap := strings.Repeat(" ", width[i]-utf8.RuneCountInString(cell))
			if right[i] {
				cell, gap = gap+cell, ""
			}
			line += cell + gap + "  "
		}
		text.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return text.String()
}

// write prints the table.
func (t *table) write(w io.Writer) error {
	_, err := io.WriteString(w, t.String())
	return written(err)
}

// plain makes a cell of s: never empty, and without what a terminal would obey.
func plain(s string) string {
	if s == "" {
		return "-"
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return '?'
		}
		return r
	}, s)
}

// written says what a failure to write was about.
func written(err error) error {
	if err != nil {
		return fmt.Errorf("write the answer: %w", err)
	}
	return nil
}
