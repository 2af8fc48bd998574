package config

import (
	"fmt"

	"go.yaml.in/yaml/v3"

	"github.com/realmgate/realmgate/internal/schema"
)

// Wrong is the fault of an entry of a section's list that only the machine shows, at the entry's line.
func (d *Document) Wrong(section, key, entry, why string) error {
	fault := schema.Error{File: d.file, Line: 1, Message: fmt.Sprintf("%s.%s: %s", section, key, why)}
	root, ok := parseYAML(new(schema.Faults), d.text, "")
	if !ok {
		return schema.Errors{fault}
	}
	for _, name := range []string{section, key} {
		if root = schema.ValueOf(root, name); root == nil {
			return schema.Errors{fault}
		}
		fault.Line = root.Line
	}
	for _, item := range append([]*yaml.Node{root}, root.Content...) {
		if item.Kind == yaml.ScalarNode && item.Value == entry {
			fault.Line = item.Line
		}
	}
	return schema.Errors{fault}
}
