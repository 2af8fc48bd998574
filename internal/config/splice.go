package config

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/schema"
)

var errUnusual = errors.New("the file writes it in a way that cannot be edited here: edit the file, and run realmgate reload")

// spot is the place in a text that is written anew when a chain's functions change: the
// value of that key or, where the chain has none, the chain.
type spot struct {
	start, end int
	lines      bool       // whole ones; else what is between brackets
	indent     string     // of all lines but the first
	node       *yaml.Node // what stands there, read by itself, so with the comments in it only
	functions  *yaml.Node // of it
}

// spotOf finds in which file a chain's functions stand, and where.
func (d *Document) spotOf(chain string) (at int, s *spot, err error) {
	for i, source := range d.sources() {
		if s, err = spotIn(source.text, chain); !errors.As(err, new(noChainError)) {
			return i, s, err
		}
	}
	return 0, nil, err
}

func spotIn(text []byte, chain string) (*spot, error) {
	_, item, err := chainNode(text, chain)
	if err != nil {
		return nil, err
	}
	node := item
	if functions := schema.ValueOf(item, "functions"); functions != nil {
		node = functions
	}
	s := extent(text, node)
	if s == nil {
		return nil, errUnusual
	}
	if s.functions = s.node; node == item {
		s.functions = &yaml.Node{Kind: yaml.SequenceNode, Style: s.node.Style}
		s.node.Content = append(s.node.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: "functions"}, s.functions)
	}
	return s, nil
}

// chainNode finds a chain in a text that has been read before, and the root of it all.
func chainNode(text []byte, chain string) (root, item *yaml.Node, err error) {
	if root, ok := parseYAML(new(schema.Faults), text, ""); ok {
		if list := schema.ValueOf(root, "chains"); list != nil {
			for _, item := range list.Content {
				if name := schema.ValueOf(item, "name"); name != nil && name.Value == chain {
					return root, item, nil
				}
			}
		}
	}
	return nil, nil, noChainError(chain)
}

// noChainError is that there is none of that name.
type noChainError string

func (e noChainError) Error() string {
	if e == model.ProtectionName {
		return string(e) + " has no functions to change by command: change the file and reload"
	}
	return fmt.Sprintf("there is no chain %q: see realmgate chain list", string(e))
}

// write returns the text of what is to stand at the spot.
func (s *spot) write() ([]byte, error) {
	var b bytes.Buffer
	encoder := yaml.NewEncoder(&b)
	encoder.SetIndent(2)
	if err := errors.Join(encoder.Encode(s.node), encoder.Close()); err != nil {
		return nil, err
	}
	text := bytes.ReplaceAll(bytes.TrimRight(b.Bytes(), "\n"), []byte("\n"), []byte("\n"+s.indent))
	if s.lines {
		text = append(text, '\n')
		if s.node.Kind == yaml.SequenceNode && len(s.node.Content) == 0 {
			text = append([]byte("  "), text...) // brackets stand deeper than their key
		}
	}
	return text, nil
}

// mostTries bounds the search for a node's end. It lies behind the last node in it, so
// that only brackets that close, or the further lines of one value, come before it.
const mostTries = 100

// extent finds a node's text, nil where it cannot. The parser tells where a node begins
// and not where it ends, so it is asked which text reads as this node.
func extent(text []byte, node *yaml.Node) *spot {
	last := node
	for len(last.Content) > 0 {
		last = last.Content[len(last.Content)-1]
	}
	closes := byte('\n')
	switch {
	case node.Style&yaml.FlowStyle == 0:
	case node.Kind == yaml.SequenceNode:
		closes = ']'
	default:
		closes = '}'
	}
	s := &spot{start: offset(text, node), lines: closes == '\n', indent: strings.Repeat(" ", max(node.Column-1, 0))}
	s.end = max(s.start, offset(text, last))
	for range mostTries {
		i := bytes.IndexByte(text[s.end:], closes)
		switch {
		case i >= 0:
			s.end += i + 1
		case s.lines && s.end < len(text):
			s.end = len(text)
		default:
			return nil
		}
		var ok bool
		if s.node, ok = parseYAML(new(schema.Faults), slices.Concat([]byte(s.indent), text[s.start:s.end]), ""); ok && same(s.node, node) {
			return s
		}
	}
	return nil
}

// offset is where a node begins.
func offset(text []byte, node *yaml.Node) int {
	at := 0
	for line := 1; line < node.Line; line++ {
		i := bytes.IndexByte(text[at:], '\n')
		if i < 0 {
			return len(text)
		}
		at += i + 1
	}
	for column := 1; column < node.Column && at < len(text); column++ {
		_, size := utf8.DecodeRune(text[at:])
		at += size
	}
	return at
}

// same reports whether two nodes say the same.
func same(a, b *yaml.Node) bool {
	return a.Kind == b.Kind && a.Value == b.Value && a.ShortTag() == b.ShortTag() && a.Anchor == b.Anchor &&
		slices.EqualFunc(a.Content, b.Content, same)
}

// onlyFunctions reports whether two texts differ in nothing but the functions of a chain.
func onlyFunctions(text, other []byte, chain string) bool {
	before, was, err := chainNode(text, chain)
	after, is, otherErr := chainNode(other, chain)
	if err != nil || otherErr != nil {
		return false
	}
	dropKey(was, "functions")
	dropKey(is, "functions")
	return same(before, after)
}
