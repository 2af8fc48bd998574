package config

import (
	"bytes"
	"errors"
	"sort"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

var errLayout = errors.New("it is written in a way that cannot be laid out anew: write it as the examples do")

// comment is one in a text, as it stands there.
type comment struct {
	text                 string
	offset, line, column int
}

// word is the text of a scalar, on one line.
type word struct {
	text string
	end  int // offset behind it
}

// tokens are what a text consists of. The parser says where nodes begin; where they end, and which comments there are, is read
// between: it loses comments that stand in brackets.
type tokens struct {
	text     []byte
	starts   []int // of lines
	comments []comment
	words    map[*yaml.Node]word
	ends     map[int]int // of brackets, by where they open
}

// tokenize reads a text that has been parsed into root.
func tokenize(text []byte, root *yaml.Node) (*tokens, error) {
	t := &tokens{text: text, starts: []int{0}, words: map[*yaml.Node]word{}, ends: map[int]int{}}
	for i, c := range text {
		if c == '\n' {
			t.starts = append(t.starts, i+1)
		}
	}
	var brackets []int
	scalars := t.inOrder(root)
	for at := 0; at < len(text); {
		if len(scalars) > 0 && at == scalars[0].offset {
			end, ok := t.scalar(at, scalars[0].node)
			if !ok {
				return nil, errLayout
			}
			at, scalars = end, scalars[1:]
			continue
		}
		switch c := text[at]; {
		case c == '#':
			at = t.comment(at)
			continue
		case c == '[' || c == '{':
			brackets = append(brackets, at)
		case (c == ']' || c == '}') && len(brackets) > 0:
			last := len(brackets) - 1
			t.ends[brackets[last]], brackets = at+1, brackets[:last]
		case c == '%' && t.starts[t.line(at)-1] == at: // a directive
			at = t.lineEnd(at)
			continue
		case !strings.ContainsRune(" \t\r\n-?:,.", rune(c)):
			return nil, errLayout
		}
		at++
	}
	return t, nil
}

type placed struct {
	node   *yaml.Node
	offset int
}

// inOrder lists the scalars below a node that have a text, as they come in it.
func (t *tokens) inOrder(node *yaml.Node) (list []placed) {
	if (node.Kind == yaml.ScalarNode || node.Kind == yaml.AliasNode) && (node.Value != "" || node.Style != 0 || node.Anchor != "") {
		return []placed{{node, t.offset(node)}}
	}
	for _, child := range node.Content {
		list = append(list, t.inOrder(child)...)
	}
	return list
}

// offset is where a node begins.
func (t *tokens) offset(node *yaml.Node) int {
	at := t.starts[min(max(node.Line, 1), len(t.starts))-1]
	for range node.Column - 1 {
		_, size := utf8.DecodeRune(t.text[at:])
		at += size
	}
	return at
}

// hasComment reports whether there is one between two offsets.
func (t *tokens) hasComment(from, to int) bool {
	i := sort.Search(len(t.comments), func(i int) bool { return t.comments[i].offset >= from })
	return i < len(t.comments) && t.comments[i].offset < to
}

// line is the one that has an offset, from 1.
func (t *tokens) line(offset int) int {
	return sort.Search(len(t.starts), func(i int) bool { return t.starts[i] > offset })
}

func (t *tokens) lineEnd(at int) int {
	if i := bytes.IndexByte(t.text[at:], '\n'); i >= 0 {
		return at + i
	}
	return len(t.text)
}

// empty reports whether a line has nothing in it.
func (t *tokens) empty(line int) bool {
	return len(bytes.TrimSpace(t.text[t.starts[line-1]:t.lineEnd(t.starts[line-1])])) == 0
}

// comment notes the comment at an offset, and returns its end.
func (t *tokens) comment(at int) int {
	line, end := t.line(at), t.lineEnd(at)
	column := 1 + utf8.RuneCount(t.text[t.starts[line-1]:at])
	t.comments = append(t.comments, comment{strings.TrimRight(string(t.text[at:end]), " \t\r"), at, line, column})
	return end
}

// scalar notes the text of one, and returns its end.
func (t *tokens) scalar(at int, node *yaml.Node) (end int, ok bool) {
	if node.Value == "" && node.Style&^yaml.TaggedStyle == 0 { // nothing but a tag or an anchor
		return 0, false
	}
	begin := at
	for at < len(t.text) && (t.text[at] == '!' || t.text[at] == '&') { // a tag or an anchor
		end := at + bytes.IndexAny(t.text[at:], " \t\r\n")
		if end < at {
			return 0, false
		}
		at = skip(t.text, end)
	}
	switch {
	case node.Style&yaml.DoubleQuotedStyle != 0:
		end = closing(t.text, at, '"', '\\')
	case node.Style&yaml.SingleQuotedStyle != 0:
		end = closing(t.text, at, '\'', '\'')
	case node.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		end = t.block(at)
	default:
		end = plainEnd(t.text, at, node)
	}
	if end < 0 {
		return 0, false
	}
	text := string(t.text[begin:end])
	if strings.Contains(text, "\n") {
		one := *node
		one.Style = node.Style&yaml.TaggedStyle | yaml.DoubleQuotedStyle
		one.HeadComment, one.LineComment, one.FootComment = "", "", ""
		made, err := yaml.Marshal(&one)
		if err != nil {
			return 0, false
		}
		text = strings.TrimRight(string(made), "\n")
	}
	t.words[node] = word{text, end}
	return end, true
}

// skip returns the offset of what is behind white space.
func skip(text []byte, at int) int {
	return len(text) - len(bytes.TrimLeft(text[at:], " \t\r\n"))
}

// closing is where a quoted scalar ends, -1 if it does not.
func closing(text []byte, at int, quote, escape byte) int {
	for i := at + 1; i < len(text); i++ {
		switch {
		case text[i] == escape && i+1 < len(text) && (escape == '\\' || text[i+1] == quote):
			i++
		case text[i] == quote:
			return i + 1
		}
	}
	return -1
}

// plainEnd is where a plain scalar, or an alias, ends: its words may stand on several lines.
func plainEnd(text []byte, at int, node *yaml.Node) int {
	if node.Kind == yaml.AliasNode {
		at++
	}
	if bytes.HasPrefix(text[at:], []byte(node.Value)) {
		return at + len(node.Value)
	}
	for i, part := range strings.Fields(node.Value) {
		if i > 0 {
			at = skip(text, at)
		}
		if !bytes.HasPrefix(text[at:], []byte(part)) {
			return -1
		}
		at += len(part)
	}
	return at
}

// block is where a literal or folded scalar ends: before the first line that is indented less than its first one.
func (t *tokens) block(at int) int {
	header := t.lineEnd(at)
	if i := bytes.Index(t.text[at:header], []byte(" #")); i >= 0 {
		t.comment(at + i + 1)
	}
	indent, end := -1, header
	for line := t.line(at) + 1; line <= len(t.starts); line++ {
		start := t.starts[line-1]
		rest := t.text[start:t.lineEnd(start)]
		if len(bytes.TrimSpace(rest)) == 0 {
			continue
		}
		depth := len(rest) - len(bytes.TrimLeft(rest, " "))
		if indent < 0 {
			indent = depth
		}
		if depth < indent || indent == 0 {
			break
		}
		end = start + len(rest)
	}
	return end
}
