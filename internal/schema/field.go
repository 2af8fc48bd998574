package schema

import (
	"fmt"
	"reflect"
	"slices"

	"go.yaml.in/yaml/v3"
)

// At is a value and the line it stands on; line 0 means that the file does not
// give it, or gives it wrongly.
type At[T any] struct {
	Value T
	Line  int
}

// One is a key with one value. target holds the default until the key is read.
func One[T any](name string, target *T, k Kind[T]) Key {
	return OneAt(name, target, new(int), k)
}

// OneAt also stores the line of a good value.
func OneAt[T any](name string, target *T, line *int, k Kind[T]) Key {
	return Key{
		Name: name, Kind: k.Name, Standard: k.Show(*target), Allowed: k.Allowed, Value: k.Form(),
		Given: func() (string, bool) {
			text := k.Show(*target)
			_, err := k.Parse(text)
			return text, err == nil
		},
		zero: func() bool { return reflect.ValueOf(target).Elem().IsZero() },
		Read: func(faults *Faults, node *yaml.Node, path string, _ int) {
			if value, ok := ReadValue(faults, node, path, k); ok {
				*target, *line = value, node.Line
			}
		},
	}
}

// Many is a key with a list of least values or more. Values that cannot be read
// are reported and left out.
func Many[T any](name string, target *[]At[T], k Kind[T], least int) Key {
	want := "a list: each entry " + k.Want
	return Key{
		Name: name, Kind: "list of: " + k.Name, Allowed: k.Allowed, Standard: "none", Item: k.Form(),
		Items: func() (list []string) {
			for _, entry := range *target {
				list = append(list, k.Show(entry.Value))
			}
			return list
		},
		Read: func(faults *Faults, node *yaml.Node, path string, _ int) {
			for _, item := range Elements(faults, node, path, want, least) {
				if value, ok := ReadValue(faults, item, path, k); ok {
					*target = append(*target, At[T]{value, item.Line})
				}
			}
		},
	}
}

// Section is a key with keys of its own.
func Section(name string, keys ...Key) Key {
	return Key{
		Name: name, Kind: "section", Keys: keys,
		Read: func(faults *Faults, node *yaml.Node, path string, line int) {
			ReadSection(faults, node, path, line, keys)
		},
	}
}

// ReadValue reads a scalar.
func ReadValue[T any](faults *Faults, node *yaml.Node, path string, k Kind[T]) (T, bool) {
	var none T
	if node.Kind != yaml.ScalarNode || !slices.Contains(k.Tags, node.ShortTag()) {
		mismatch(faults, node, path, k.Want, nil)
		return none, false
	}
	value, err := k.Parse(node.Value)
	if err != nil {
		mismatch(faults, node, path, k.Want, err)
		return none, false
	}
	return value, true
}

// Begun is where an entry of a list begins, for what it lacks; 0: it is no mapping, which has been told. Entries embed it.
type Begun struct{ Line int }

// Begins notes the line.
func (b *Begun) Begins(line int) { b.Line = line }

// Either reports whether an entry has one of two keys, which words name, and says so where it has none or both. The
// lines are theirs, 0: not given.
func (b Begun) Either(faults *Faults, path, words string, first, second int) bool {
	switch {
	case b.Line > 0 && first == 0 && second == 0:
		faults.Add(b.Line, "%s: give %s", path, words)
	case first > 0 && second > 0:
		faults.Add(second, "%s: give %s, not both", path, words)
	}
	return (first > 0) != (second > 0)
}

// ListOf is a key with a list of sections, each read into a T of its own.
func ListOf[T any](name string, target *[]*T, keys func(*T) []Key) Key {
	documented := keys(new(T))
	var read [][]Key
	return Key{
		Name: name, Kind: "list of sections", Standard: "none", Keys: documented, Entries: func() [][]Key { return read },
		Read: func(faults *Faults, node *yaml.Node, path string, _ int) {
			for i, item := range Elements(faults, node, path, "a list, each entry a mapping", 0) {
				element := new(T)
				*target = append(*target, element)
				if e, notes := any(element).(interface{ Begins(line int) }); notes && item.Kind == yaml.MappingNode {
					e.Begins(item.Line)
				}
				read = append(read, keys(element))
				ReadSection(faults, item, fmt.Sprintf("%s[%d]", path, i), item.Line, read[i])
			}
		},
	}
}

// Noting also stores the line of a key that is given, also where its value is wrong.
func Noting(target *int, k Key) Key {
	read := k.Read
	k.Noted = true
	k.Read = func(faults *Faults, node *yaml.Node, path string, line int) {
		*target = line
		read(faults, node, path, line)
	}
	return k
}

// Most reads n entries of a list at most; that it has more is told at the first of those.
func (k Key) Most(n int) Key {
	read := k.Read
	k.Read = func(faults *Faults, node *yaml.Node, path string, line int) {
		if count := len(node.Content); node.Kind == yaml.SequenceNode && count > n {
			faults.Add(node.Content[n].Line, "%s: there are %d, at most %d are allowed", path, count, n)
			first := *node // the document stays as it is
			first.Content = node.Content[:n]
			node = &first
		}
		read(faults, node, path, line)
	}
	return k
}

// Values are those of a list, without their lines.
func Values[T any](list []At[T]) (values []T) {
	for _, entry := range list {
		values = append(values, entry.Value)
	}
	return values
}
