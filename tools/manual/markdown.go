package main

import (
	"regexp"
	"strings"
)

var (
	link    = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	divider = regexp.MustCompile(`^\|[ |:-]+\|$`)
)

// unlinked has the words of links alone: their targets are pages that the machine may not have.
func unlinked(text string) string { return link.ReplaceAllString(text, "$1") }

// plain is Markdown as a terminal can show it: tables, whose cells are sentences, become lists of their first column.
func plain(text string) string {
	var b strings.Builder
	var columns []string // of the table that is open
	code := false
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "```") {
			code = !code
			line = line[:3] // md2man sets each language apart
		}
		switch row := strings.HasPrefix(line, "|"); {
		case code || !row:
			columns = nil
			if !code {
				line = unlinked(line)
			}
			b.WriteString(line + "\n")
		case divider.MatchString(line):
		case columns == nil:
			columns = cells(line)
			b.WriteString("\n")
		default:
			b.WriteString(entry(columns, cells(line)))
		}
	}
	return b.String()
}

// cells are those of a row.
func cells(row string) []string {
	row = strings.ReplaceAll(unlinked(row), `\|`, "\x00")
	var found []string
	for _, c := range strings.Split(strings.Trim(row, "|"), "|") {
		found = append(found, strings.TrimSpace(strings.ReplaceAll(c, "\x00", "|")))
	}
	return found
}

// entry is a row as an entry of a list. The last column is its text; those between, where they say something, stand before it by name.
func entry(columns, row []string) string {
	var facts []string
	for i := 1; i < len(row)-1; i++ {
		if row[i] != "" && row[i] != "–" && i < len(columns) {
			facts = append(facts, strings.TrimSpace(strings.ToLower(columns[i])+" "+row[i]))
		}
	}
	text := row[len(row)-1]
	if len(facts) > 0 {
		text = "(" + strings.Join(facts, "; ") + ") " + text
	}
	return row[0] + "\n: " + text + "\n\n"
}
