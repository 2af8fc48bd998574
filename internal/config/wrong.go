package config

import (
	"fmt"

	"go.yaml.in/yaml/v3"

	"github.com/realmgate/realmgate/internal/schema"
)

// Wrong is the fault of an entry of a section's list that only the machine shows, at the entry's line.
func (d *Document) Wrong(section, key, entry, why string) error {
	fault := schema.Error{File: d.file, Line: 1, Message: fmt.Sprintf("%s.%s: %s", section, key, why)}
	for _, s := range d.sources() {
		if line, is := lineOf(s.text, section, key, entry); line > 0 {
			fault.File, fault.Line = s.file, line
			if is {
				break
			}
		}
	}
	return schema.Errors{fault}
}

// lineOf is where a file has the entry or, if it has none, the key or at least the section; 0: it has none of them.
func lineOf(text []byte, section, key, entry string) (line int, is bool) {
	node, ok := parseYAML(new(schema.Faults), text, "")
	if !ok {
		return 0, false
	}
	for _, name := range []string{section, key} {
		if node = schema.ValueOf(node, name); node == nil {
			return line, false
		}
		line = node.Line
	}
	for _, item := range append([]*yaml.Node{node}, node.Content...) {
		if item.Kind == yaml.ScalarNode && item.Value == entry {
			return item.Line, true
		}
	}
	return line, false
}
