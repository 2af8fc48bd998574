package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"sort"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/realmgate/realmgate/internal/schema"
)

const emptyProblem = "the file is empty: it needs at least interfaces, realm, dns and pool"

// parseYAML parses data into the root node of its only document, and reports
// whether there is one; empty is the fault of having none. Aliases are not
// followed, so a small file cannot grow.
func parseYAML(faults *schema.Faults, data []byte, empty string) (*yaml.Node, bool) {
	first, second, line, err := documents(data)
	if err != nil {
		line, problem := locate(err, data, line)
		faults.Add(line, "not valid YAML: %s", problem)
	}
	if second != nil {
		faults.Add(second.Line, "a second YAML document begins here: the file may hold only one")
	}
	if first == nil {
		if err == nil {
			faults.Add(1, "%s", empty)
		}
		return nil, false
	}
	root := first.Content[0]
	if root.ShortTag() == "!!null" {
		faults.Add(1, "%s", empty)
		return nil, false
	}
	return root, true
}

// documents parses the first document and, to see whether there is one, the
// second. line is how far it read, err what stopped it before the end.
func documents(data []byte) (first, second *yaml.Node, line int, err error) {
	lines := &lineReader{rest: data}
	decoder := yaml.NewDecoder(lines)
	if first, err = decode(decoder); err == nil {
		second, err = decode(decoder)
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return first, second, lines.line, err
}

// decode reads the next document. The parser is foreign code and panics on
// faults of its own; a reload must outlive that.
func decode(decoder *yaml.Decoder) (document *yaml.Node, err error) {
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("yaml: the parser gave up: %v", fault)
		}
	}()
	document = new(yaml.Node)
	if err := decoder.Decode(document); err != nil {
		return nil, err
	}
	if len(document.Content) != 1 {
		return nil, errors.New("yaml: a document without content")
	}
	return document, nil
}

// lineReader hands out one line at a time, so that line tells how far the
// parser had read when it met a fault that it reports without a place.
type lineReader struct {
	rest []byte
	line int
}

func (r *lineReader) Read(buffer []byte) (int, error) {
	if len(r.rest) == 0 {
		return 0, io.EOF
	}
	end := bytes.IndexByte(r.rest, '\n') + 1
	if end == 0 {
		end = len(r.rest)
	}
	n := copy(buffer, r.rest[:end])
	r.rest = r.rest[n:]
	if n == end {
		r.line++
	}
	return n, nil
}

// blockProblems are reported where the block begins, not where it breaks.
var blockProblems = []string{"did not find expected key", "did not find expected '-' indicator"}

// oneShort lists other problems whose line the parser counts from zero.
var oneShort = []string{
	"did not find expected ',' or",
	"did not find expected node content",
	"did not find expected <",
	"found undefined tag handle",
	"found incompatible YAML document",
	"found duplicate %",
	"found a tab character that violates indentation",
}

// unplaced lists problems that come without a line wherever they are; all
// others come without one on the first line only.
var unplaced = []string{"UTF-", "Unicode", "surrogate", "control characters", "the parser gave up"}

// locate splits a parser error into line and problem. read is the line the
// parser had reached, which is the place itself or soon after it.
func locate(err error, data []byte, read int) (line int, problem string) {
	line, problem = 1, strings.TrimPrefix(err.Error(), "yaml: ")
	has := func(part string) bool { return strings.Contains(problem, part) }
	if rest, ok := strings.CutPrefix(problem, "line "); ok {
		if number, after, ok := strings.Cut(rest, ": "); ok {
			line, _ = strconv.Atoi(number) // on failure 0, which becomes line 1
			problem = after
			if slices.ContainsFunc(oneShort, has) {
				line++
			}
		}
	}
	var alias string
	switch _, scanErr := fmt.Sscanf(problem, "unknown anchor '%s", &alias); {
	case scanErr == nil:
		return aliasLine(data, strings.TrimSuffix(alias, "'"), read), schema.AliasProblem
	case has("alphabetic or numeric character"):
		return min(line, read), problem + `: what begins with * stands in quotes, as "*.foo.example."`
	case slices.ContainsFunc(blockProblems, has):
		return breakLine(data, problem, read), problem + ": check the indentation"
	case slices.ContainsFunc(unplaced, has):
		return read, problem
	case has("tab character"), has("cannot start any token") && indentedByTab(data, line):
		problem = "a tab indents this line: use spaces"
	}
	return min(line, read), problem
}

// breakLine finds the first line with which data has the problem. It searches
// by halves: a block that is broken stays so, whatever follows.
func breakLine(data []byte, problem string, read int) int {
	ends := []int{0}
	for at, c := range data {
		if c == '\n' {
			ends = append(ends, at+1)
		}
	}
	return min(read, sort.Search(len(ends), func(i int) bool {
		_, _, _, err := documents(data[:ends[i]])
		return err != nil && strings.Contains(err.Error(), problem)
	}))
}

// aliasLine finds the last line up to read that has the alias.
func aliasLine(data []byte, alias string, read int) int {
	lines := bytes.Split(data, []byte("\n"))
	for i := min(read, len(lines)) - 1; i >= 0; i-- {
		if bytes.Contains(lines[i], []byte("*"+alias)) {
			return i + 1
		}
	}
	return read
}

// indentedByTab reports whether a tab comes before the text of a line.
func indentedByTab(data []byte, line int) bool {
	lines := bytes.SplitN(data, []byte("\n"), line+1)
	return line >= 1 && line <= len(lines) && bytes.HasPrefix(bytes.TrimLeft(lines[line-1], " "), []byte("\t"))
}
