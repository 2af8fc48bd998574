package config

import (
	"slices"

	"go.yaml.in/yaml/v3"
)

// at is a value and the line it stands on; line 0 means that the file does not
// give it, or gives it wrongly.
type at[T any] struct {
	value T
	line  int
}

// one is a key with one value. target holds the default until the key is read.
func one[T any](name string, target *T, k kind[T]) key {
	return oneAt(name, target, new(int), k)
}

// oneAt also stores the line of a good value.
func oneAt[T any](name string, target *T, line *int, k kind[T]) key {
	return key{
		name: name, kind: k.name, standard: k.show(*target), allowed: k.allowed,
		read: func(faults *faultLog, node *yaml.Node, path string, _ int) {
			if value, ok := readValue(faults, node, path, k); ok {
				*target, *line = value, node.Line
			}
		},
	}
}

// many is a key with a list of least values or more. Values that cannot be read
// are reported and left out.
func many[T any](name string, target *[]at[T], k kind[T], least int) key {
	want := "a list: each entry " + k.want
	return key{
		name: name, kind: "list of: " + k.name, allowed: k.allowed, standard: "none",
		read: func(faults *faultLog, node *yaml.Node, path string, _ int) {
			for _, item := range elements(faults, node, path, want, least) {
				if value, ok := readValue(faults, item, path, k); ok {
					*target = append(*target, at[T]{value, item.Line})
				}
			}
		},
	}
}

// section is a key with keys of its own.
func section(name string, keys ...key) key {
	return key{
		name: name, kind: "section", keys: keys,
		read: func(faults *faultLog, node *yaml.Node, path string, line int) {
			readSection(faults, node, path, line, keys)
		},
	}
}

// readValue reads a scalar.
func readValue[T any](faults *faultLog, node *yaml.Node, path string, k kind[T]) (T, bool) {
	var none T
	if node.Kind != yaml.ScalarNode || !slices.Contains(k.tags, node.ShortTag()) {
		mismatch(faults, node, path, k.want, nil)
		return none, false
	}
	value, err := k.parse(node.Value)
	if err != nil {
		mismatch(faults, node, path, k.want, err)
		return none, false
	}
	return value, true
}
