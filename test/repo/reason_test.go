package repo

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const (
	reasonHeader = "bpf/include/reason.h"
	reasonPage   = "docs/reference/counters.md"
)

var (
	enumBody  = regexp.MustCompile(`(?s)enum reason \{(.*?)\n\}`)
	enumEntry = regexp.MustCompile(`(?m)^\s*REASON_([A-Z0-9_]+)\b`)
	codeWord  = regexp.MustCompile("`([a-z0-9_]+)`")
)

// reasons reads the names of enum reason as the daemon prints them. NONE and MAX
// are marks, not reasons.
func reasons(header string) []string {
	var names []string
	body := enumBody.FindStringSubmatch(header)
	if body == nil {
		return nil
	}
	for _, entry := range enumEntry.FindAllStringSubmatch(body[1], -1) {
		if entry[1] != "NONE" && entry[1] != "MAX" {
			names = append(names, strings.ToLower(entry[1]))
		}
	}
	return names
}

// checkReasons wants a table row or a heading for every reason, and no row for a
// drop that does not exist.
func checkReasons(r tree) []string {
	header, ok := r.read(reasonHeader)
	if !ok {
		return []string{reasonHeader + ": missing"}
	}
	known := reasons(header)
	if len(known) == 0 {
		return []string{reasonHeader + ": no enum reason found"}
	}
	page, ok := r.read(reasonPage)
	if !ok {
		return []string{fmt.Sprintf("%s: missing: it must explain the %d reasons of %s", reasonPage, len(known), reasonHeader)}
	}
	var problems, explained []string
	for number, line := range strings.Split(page, "\n") {
		if !strings.HasPrefix(line, "|") && !strings.HasPrefix(line, "#") {
			continue
		}
		subject := line
		if cells := strings.Split(line, "|"); len(cells) > 1 {
			subject = cells[1]
		}
		for _, word := range codeWord.FindAllStringSubmatch(subject, -1) {
			explained = append(explained, word[1])
			if strings.HasPrefix(word[1], "drop_") && !slices.Contains(known, word[1]) {
				problems = append(problems, fmt.Sprintf("%s:%d: explains %s, which is not in %s", reasonPage, number+1, word[1], reasonHeader))
			}
		}
	}
	for _, name := range known {
		if !slices.Contains(explained, name) {
			problems = append(problems, fmt.Sprintf("%s: does not explain `%s`: add a row that begins with it", reasonPage, name))
		}
	}
	return problems
}

func TestReasons(t *testing.T) {
	t.Parallel()
	upholds(t, checkReasons)
}

func TestReasonsCanFail(t *testing.T) {
	t.Parallel()
	header := "enum reason {\n\tREASON_NONE = 0, /* not REASON_COUNTED */\n\n\t/* Passed. */\n\tREASON_FORWARDED, /* on */\n" +
		"\tREASON_DROP_VLAN,\n\tREASON_MAX,\n};\n"
	rejects(t, checkReasons, map[string]string{reasonHeader: header}, "it must explain the 2 reasons")
	rejects(t, checkReasons, map[string]string{reasonHeader: "enum verdict {\n};\n"}, "no enum reason")
	rejects(t, checkReasons, nil, reasonHeader+": missing")
	rejects(t, checkReasons, map[string]string{
		reasonHeader: header,
		reasonPage:   "# Counters\n| `forwarded` | not `drop_vlan` |\n| `drop_old` | gone |\nA sentence on `drop_vlan`.\n",
	}, "does not explain `drop_vlan`", "counters.md:3: explains drop_old")
	rejects(t, checkReasons, map[string]string{reasonHeader: header, reasonPage: "### `forwarded`\n| `drop_vlan` | tagged |\n"})
}
