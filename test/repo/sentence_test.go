package repo

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

const longest = 25 // words that a sentence of a guide or a reference may have

var (
	inlineCode  = regexp.MustCompile("`[^`]*`")
	linkTarget  = regexp.MustCompile(`\]\([^)]*\)`)
	listItem    = regexp.MustCompile(`^\s*(?:[-*]|\d+\.) `)
	sentenceEnd = regexp.MustCompile(`[.!?]["*_)\]]*(?:\s+|$)`)
	wordInside  = regexp.MustCompile(`[\pL\pN]`)
)

// checkSentences wants short sentences in guide and reference, in tables, too. Code blocks and
// headings are not prose, and an inline piece of code is one word.
func checkSentences(r tree) []string {
	var problems []string
	for _, page := range r.match(suffix(".md")) {
		if !strings.HasPrefix(page, "docs/guide/") && !strings.HasPrefix(page, "docs/reference/") {
			continue
		}
		text, _ := r.read(page)
		problems = append(problems, longSentences(page, text)...)
	}
	return problems
}

func longSentences(page, text string) []string {
	var found []string
	for _, paragraph := range paragraphs(text) {
		for _, sentence := range sentenceEnd.Split(paragraph, -1) {
			if n := words(sentence); n > longest {
				found = append(found, fmt.Sprintf("%s: %d words in a sentence, %d are allowed: %s", page, n, longest, sentence))
			}
		}
	}
	return found
}

// paragraphs are a page's texts, each on one line: blank lines, list items, cells of tables
// and headings end one.
func paragraphs(text string) []string {
	var found []string
	var open []string
	end := func() {
		if len(open) > 0 {
			found = append(found, linkTarget.ReplaceAllString(inlineCode.ReplaceAllString(strings.Join(open, " "), "x"), "]"))
		}
		open = nil
	}
	for line := range strings.Lines(fence.ReplaceAllString(text, "\n")) {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
			end()
			continue
		case strings.HasPrefix(line, "|"):
			end()
			for cell := range strings.SplitSeq(strings.ReplaceAll(line, `\|`, " "), "|") {
				open = []string{cell}
				end()
			}
			continue
		case listItem.MatchString(line):
			end()
			line = listItem.ReplaceAllString(line, "")
		}
		open = append(open, line)
	}
	end()
	return found
}

// words counts what has a letter or a digit in it.
func words(sentence string) int {
	n := 0
	for _, word := range strings.Fields(sentence) {
		if wordInside.MatchString(word) {
			n++
		}
	}
	return n
}

func TestSentencesAreShort(t *testing.T) {
	t.Parallel()
	upholds(t, checkSentences)
}

func TestSentencesAreShortCanFail(t *testing.T) {
	t.Parallel()
	at := func(n int) string { return strings.TrimSpace(strings.Repeat("word ", n)) }
	rejects(t, checkSentences, map[string]string{
		"docs/guide/long.md": "# Title\n\nShort.\n" + at(longest-5) + "\n" + at(6) + ". And " + at(3) + ".\n",
		"docs/guide/item.md": "- " + at(10) + "\n  " + at(16) + "\n",
		"docs/guide/cell.md": "| " + at(20) + " | " + at(10) + ". " + at(27) + " |\n| --- | --- |\n",
		"docs/guide/fits.md": at(longest) + ". " + at(longest) + "\n\n- " + at(20) + "\n- " + at(20) +
			"\n\n| " + at(20) + " | " + at(20) + ". " + at(20) + " |\n| --- | --- |\n\n```sh\n" + at(40) + "\n```\n\n`" + at(40) + "` [" + at(2) + "](a \"" + at(40) + "\")\n",
		"docs/design/other.md": at(40),
	}, "docs/guide/long.md: 26 words", "docs/guide/item.md: 26 words", "docs/guide/cell.md: 27 words")
}
