package repo

import (
	"fmt"
	"path"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

var (
	link     = regexp.MustCompile(`\]\(<?([^)\s>]+)>?(?: "[^"]*")?\)`)
	fence    = regexp.MustCompile("(?ms)^\\s*```.*?^\\s*```")
	codeSpan = regexp.MustCompile("`[^`\n]*`")
	heading  = regexp.MustCompile(`(?m)^#{1,6} +(.*?) *#*$`)
)

// checkLinks wants every relative link of every page to lead to a file, and its
// fragment to a heading.
func checkLinks(r tree) []string {
	var problems []string
	for _, page := range r.match(suffix(".md")) {
		text, _ := r.read(page)
		prose := codeSpan.ReplaceAllString(fence.ReplaceAllString(text, ""), "")
		for _, match := range link.FindAllStringSubmatch(prose, -1) {
			target, fragment, _ := strings.Cut(match[1], "#")
			if strings.Contains(target, ":") { // another site
				continue
			}
			file := page
			if target != "" {
				file = path.Join(path.Dir(page), target)
			}
			linked, readable := r.read(file)
			switch {
			case path.IsAbs(target) || !r.has(file):
				problems = append(problems, fmt.Sprintf("%s: links to %s, which does not exist", page, match[1]))
			case fragment != "" && readable && strings.HasSuffix(file, ".md") && !anchors(linked)[fragment]:
				problems = append(problems, fmt.Sprintf("%s: links to %s: there is no such heading", page, match[1]))
			}
		}
	}
	return problems
}

// anchors names a page's headings as the usual renderers do: lower case, spaces
// to hyphens, punctuation dropped, repeats numbered.
func anchors(page string) map[string]bool {
	found := map[string]bool{}
	for _, match := range heading.FindAllStringSubmatch(fence.ReplaceAllString(page, ""), -1) {
		anchor := strings.Map(func(c rune) rune {
			switch {
			case c == ' ':
				return '-'
			case c == '-' || c == '_' || unicode.IsLetter(c) || unicode.IsDigit(c):
				return unicode.ToLower(c)
			}
			return -1
		}, match[1])
		name := anchor
		for n := 1; found[name]; n++ {
			name = fmt.Sprintf("%s-%d", anchor, n)
		}
		found[name] = true
	}
	return found
}

func TestLinks(t *testing.T) {
	t.Parallel()
	r := repository(t)
	if !r.has("README.md") {
		t.Error("README.md: missing")
	}
	upholds(t, checkLinks)
}

func TestLinksCanFail(t *testing.T) {
	t.Parallel()
	rejects(t, checkLinks, map[string]string{
		"README.md": "# Realm `gate`: how?\n[a](docs/guide/start.md) [b](docs/guide) [c](#realm-gate-how) [d](https://example.net/x)\n" +
			"```\n[code](gone.md)\n```\n`[code](gone.md)` ![picture](docs/gone.svg) [abs](/docs)\n",
		"docs/guide/start.md": "# Start\n[up](../../README.md#realm-gate-how) [lost](../gone.md \"title\") [x](../../README.md#nowhere)\n",
	}, "docs/gone.svg", "/docs, which", "../gone.md", "#nowhere: there is no such heading")
}
