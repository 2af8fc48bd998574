package config

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/realmgate/realmgate/internal/schema"
)

// widest is the longest line, in characters without its comment, that has brackets in it.
const widest = 120

// Format returns a text in canonical form: two spaces a level, each value on one line, what is in brackets on one line if it
// fits and has no comment in it, one empty line where there are some, comments of adjacent lines aligned. It keeps every
// comment, and the order. The text need not be a valid configuration, but YAML; an error is schema.Errors.
func Format(file string, text []byte) ([]byte, error) {
	faults := &schema.Faults{File: file}
	root, ok := parseYAML(faults, text, emptyProblem)
	if err := faults.Err(); !ok || err != nil {
		return nil, err
	}
	made, err := layOut(text, root)
	if err != nil {
		faults.Add(root.Line, "%s", err)
		return nil, faults.Err()
	}
	return made, nil
}

// layOut writes a text anew, and sees to it that it says the same.
func layOut(text []byte, root *yaml.Node) ([]byte, error) {
	t, err := tokenize(text, root)
	if err != nil {
		return nil, err
	}
	l := &layout{tokens: t}
	switch root.Kind {
	case yaml.MappingNode:
		err = l.mapping(root, 0, "")
	case yaml.SequenceNode:
		err = l.sequence(root, 0, "")
	default:
		err = errLayout
	}
	if err != nil {
		return nil, err
	}
	l.flush(len(text), 1, 0)
	made := l.bytes()
	again, ok := parseYAML(new(schema.Faults), made, "")
	if !ok || !same(again, root) {
		return nil, errLayout
	}
	is, err := tokenize(made, again)
	if err != nil || !slices.EqualFunc(is.comments, t.comments, func(a, b comment) bool { return a.text == b.text }) {
		return nil, errLayout
	}
	return made, nil
}

// layout is a text on its way to canonical form.
type layout struct {
	*tokens
	lines   []line
	next    int     // the first comment that is not written yet
	reached int     // source line up to which all is written
	end     int     // source line on which the entry that was written last ends
	open    []depth // of that entry and what it is in
}

type line struct {
	indent        int
	text, comment string
	apart         bool // an empty line comes before it
}

// depth is where entries of a level stand: in the source, 0 in brackets, and here.
type depth struct{ column, indent int }

func (l *layout) mapping(node *yaml.Node, indent int, lead string) error {
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		if key.Kind != yaml.ScalarNode && key.Kind != yaml.AliasNode || key.Value == "" && key.Style == 0 {
			return errLayout
		}
		column := key.Column
		if node.Style&yaml.FlowStyle != 0 {
			column = 0
		}
		if err := l.entry(lead+l.words[key].text+":", l.offset(key), value, depth{column, indent}, len(lead)); err != nil {
			return err
		}
		lead = ""
	}
	return nil
}

func (l *layout) sequence(node *yaml.Node, indent int, lead string) error {
	column := node.Column
	if node.Style&yaml.FlowStyle != 0 {
		column = 0
	}
	for _, item := range node.Content {
		if err := l.item(lead+"-", item, depth{column, indent}, len(lead)); err != nil {
			return err
		}
		lead = ""
	}
	return nil
}

// entry writes a key, which begins at an offset, and its value.
func (l *layout) entry(head string, start int, value *yaml.Node, at depth, lead int) error {
	if text, end, ok := l.inline(value, at.indent-lead+utf8.RuneCountInString(head)+1); ok {
		l.write(strings.TrimRight(head+" "+text, " "), start, max(start, end), at, lead)
		return nil
	}
	l.write(head, start, start, at, lead)
	return l.below(value, at.indent+2, "")
}

// item writes an entry of a list.
func (l *layout) item(head string, item *yaml.Node, at depth, lead int) error {
	if text, end, ok := l.inline(item, at.indent-lead+len(head)+1); ok {
		l.write(strings.TrimRight(head+" "+text, " "), l.offset(item), max(l.offset(item), end), at, lead)
		return nil
	}
	l.flush(l.offset(item), at.column, at.indent)
	l.enter(at)
	return l.below(item, at.indent+2, head+" ")
}

// below writes a mapping or a list on lines of its own.
func (l *layout) below(node *yaml.Node, indent int, lead string) error {
	switch {
	case node.Anchor != "" || node.Style&yaml.TaggedStyle != 0:
		return errLayout
	case node.Kind == yaml.MappingNode:
		return l.mapping(node, indent, lead)
	default:
		return l.sequence(node, indent, lead)
	}
}

// inline is the text of what stands on one line with its key, which takes so many characters, and where its source ends.
func (l *layout) inline(node *yaml.Node, taken int) (text string, end int, ok bool) {
	if node.Kind != yaml.MappingNode && node.Kind != yaml.SequenceNode {
		w := l.words[node]
		return w.text, w.end, true
	}
	if node.Style&yaml.FlowStyle == 0 || node.Anchor != "" || node.Style&yaml.TaggedStyle != 0 {
		return "", 0, false
	}
	start := l.offset(node)
	end = l.ends[start]
	text, ok = l.brackets(node)
	if len(node.Content) > 0 && (!ok || taken+utf8.RuneCountInString(text) > widest || l.hasComment(start, end)) {
		return "", 0, false
	}
	return text, end, true
}

// brackets is a node in them; not ok where a key has no value.
func (l *layout) brackets(node *yaml.Node) (string, bool) {
	parts := make([]string, len(node.Content))
	for i, child := range node.Content {
		ok := true
		if child.Kind == yaml.MappingNode || child.Kind == yaml.SequenceNode {
			parts[i], ok = l.brackets(child)
		} else {
			parts[i] = l.words[child].text
		}
		if !ok || parts[i] == "" {
			return "", false
		}
	}
	if node.Kind == yaml.SequenceNode {
		return "[" + strings.Join(parts, ", ") + "]", true
	}
	pairs := make([]string, 0, len(parts)/2)
	for i := 0; i+1 < len(parts); i += 2 {
		pairs = append(pairs, fmt.Sprintf("%s: %s", parts[i], parts[i+1]))
	}
	return "{" + strings.Join(pairs, ", ") + "}", true
}

// write adds a line whose source is from start to end.
func (l *layout) write(text string, start, end int, at depth, lead int) {
	l.flush(end, at.column, at.indent)
	l.enter(at)
	l.add(line{indent: at.indent - lead, text: text}, l.line(start))
	l.end = l.line(max(start, end-1))
	l.reached = max(l.reached, l.end)
}

// enter notes on which level what comes next stands.
func (l *layout) enter(at depth) {
	for len(l.open) > 0 && l.open[len(l.open)-1].indent >= at.indent {
		l.open = l.open[:len(l.open)-1]
	}
	l.open = append(l.open, at)
}

func (l *layout) add(one line, source int) {
	one.apart = len(l.lines) > 0 && source > l.reached && source > 1 && l.empty(source-1)
	l.lines = append(l.lines, one)
	l.reached = max(l.reached, source)
}

// flush writes the comments before an offset, where an entry of that level ends.
func (l *layout) flush(offset, column, indent int) {
	for ; l.next < len(l.comments) && l.comments[l.next].offset < offset; l.next++ {
		c := l.comments[l.next]
		if last := len(l.lines) - 1; last >= 0 && c.line == l.end && l.lines[last].comment == "" && l.lines[last].text != "" {
			l.lines[last].comment = c.text
			continue
		}
		own := indent
		for _, d := range l.open {
			if column > 0 && c.column > column && d.column > 0 && d.column <= c.column {
				own = max(own, d.indent)
			}
		}
		l.add(line{indent: own, comment: c.text}, c.line)
	}
}

// bytes writes the lines, with comments beside adjacent ones aligned.
func (l *layout) bytes() []byte {
	var b strings.Builder
	width := func(o line) int { return o.indent + utf8.RuneCountInString(o.text) }
	beside := func(i int) bool { return i < len(l.lines) && l.lines[i].text != "" && l.lines[i].comment != "" }
	aligned := 0
	for i, o := range l.lines {
		if beside(i) && (i == 0 || !beside(i-1) || o.apart) {
			aligned = 0
			for j := i; beside(j) && (j == i || !l.lines[j].apart); j++ {
				aligned = max(aligned, width(l.lines[j]))
			}
		}
		if o.apart {
			b.WriteByte('\n')
		}
		b.WriteString(strings.Repeat(" ", o.indent) + o.text)
		if beside(i) {
			b.WriteString(strings.Repeat(" ", aligned-width(o)+1))
		}
		b.WriteString(o.comment + "\n")
	}
	return []byte(b.String())
}
