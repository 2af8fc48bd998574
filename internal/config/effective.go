package config

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/realmgate/realmgate/internal/schema"
)

// Effective is the text of a document with the values of all keys that it does not give, and without comments. Where a key has
// no fixed default and nothing is known, as of the machine's addresses, it stays out.
func (d *Document) Effective() ([]byte, error) {
	root, keys := d.values()
	l := &layout{tokens: &tokens{starts: []int{0}, words: map[*yaml.Node]word{}}}
	l.wordsOf(complete(root, keys))
	if err := l.mapping(root, 0, ""); err != nil {
		return nil, err
	}
	return l.bytes(), nil
}

// values are the document's nodes, and the keys with what they mean. What the files that it names have to say is not looked at again
// to find faults.
func (d *Document) values() (*yaml.Node, []schema.Key) {
	drafts := new(Config).drafts(d.Config.Sets)
	sources := d.sources()
	faults := faultsOf(sources)
	root := join(faults, sources)
	return root, schema.Read(faults, root, drafts)
}

// complete adds to a section the keys that it does not have, in the order of the reference, and writes all values as that does.
func complete(section *yaml.Node, keys []schema.Key) *yaml.Node {
	var content []*yaml.Node
	for _, k := range keys {
		if k.Foreign || k.Variant {
			continue
		}
		node := schema.ValueOf(section, k.Name)
		switch {
		case node == nil:
			node = standard(k)
		case node.Kind == yaml.ScalarNode:
			if text, ok := given(k); ok {
				*node = *scalar(text, k.Value.Tags)
			}
		case node.Kind == yaml.MappingNode && k.Kind == "section":
			complete(node, k.Keys)
		case node.Kind == yaml.SequenceNode:
			completeList(node, k)
		}
		if node != nil {
			content = append(content, &yaml.Node{Kind: yaml.ScalarNode, Value: k.Name}, node)
		}
	}
	section.Content = content
	return section
}

func completeList(node *yaml.Node, k schema.Key) {
	if k.Items != nil {
		for i, text := range k.Items() {
			if i < len(node.Content) {
				*node.Content[i] = *scalar(text, k.Item.Tags)
			}
		}
	}
	if k.Entries != nil {
		for i, keys := range k.Entries() {
			if i < len(node.Content) && node.Content[i].Kind == yaml.MappingNode {
				complete(node.Content[i], keys)
			}
		}
	}
}

// given is the value that a key with a scalar has.
func given(k schema.Key) (string, bool) {
	if k.Given == nil {
		return "", false
	}
	return k.Given()
}

// standard is what a key has that is not given, nil for nothing.
func standard(k schema.Key) *yaml.Node {
	if k.Noted {
		return nil
	}
	if text, ok := given(k); ok && !k.Required && !strings.HasPrefix(k.Standard, "none") && k.Standard != "any" {
		return scalar(text, k.Value.Tags)
	}
	if k.Kind != "section" || slices.ContainsFunc(k.Keys, func(k schema.Key) bool { return k.Required }) {
		return nil
	}
	section := complete(&yaml.Node{Kind: yaml.MappingNode}, k.Keys)
	if len(section.Content) == 0 {
		return nil
	}
	return section
}

// scalar is a value of one of these types, in quotes where it would be read as another without.
func scalar(text string, tags []string) *yaml.Node {
	plain := &yaml.Node{Kind: yaml.ScalarNode, Value: text}
	if slices.Contains(tags, plain.ShortTag()) && !strings.ContainsAny(text, "[]{},?") { // it may come to stand in brackets
		return plain
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Value: text, Style: yaml.DoubleQuotedStyle}
}

// wordsOf notes how scalars are written.
func (l *layout) wordsOf(node *yaml.Node) {
	if node.Kind == yaml.ScalarNode {
		alone := yaml.Node{Kind: yaml.ScalarNode, Value: node.Value, Style: node.Style, Tag: node.Tag}
		text, err := yaml.Marshal(&alone)
		if err == nil {
			l.words[node] = word{text: strings.TrimSuffix(string(text), "\n")}
		}
	}
	for _, child := range node.Content {
		l.wordsOf(child)
	}
}
