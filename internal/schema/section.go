package schema

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/realmgate/realmgate/internal/model"
)

// AliasProblem is what is wrong with an alias.
const AliasProblem = "aliases (*name and <<) are not read: write the value out"

// Key is one entry of the schema: how it is documented and how it is read.
type Key struct {
	Name     string
	Required bool
	Kind     string // type, as the reference shows it
	Standard string // default, as the reference shows it
	Allowed  string // range, as the reference shows it
	Keys     []Key  // of a section, or of each element of a list of sections
	Value    *Form  // of the value, nil where it is no scalar
	Item     *Form  // of entries of a list that are scalars, nil where none is
	Foreign  bool   // of another kind of section, and an error here
	Noted    bool   // that the file gives it means something, whatever its value
	Variant  bool   // no key: Keys are those that a section has of which Name stands after its first

	// What the key has when all is read and finished, in the words of the reference. Any may be nil; Given also has a default, and
	// reports whether there is a value at all.
	Given   func() (text string, ok bool)
	Items   func() []string // of a list of scalars
	Entries func() [][]Key  // of a list of sections: the keys of each

	zero func() bool // whether nothing has set the value

	// Read checks the node and stores its value. line is the key's own.
	Read func(faults *Faults, node *yaml.Node, path string, line int)
}

// Must marks a key that the file has to give.
func (k Key) Must() Key {
	k.Required, k.Standard = true, ""
	return k
}

// Otherwise documents a default that is not a fixed value.
func (k Key) Otherwise(standard string) Key {
	k.Standard = standard
	if given := k.Given; given != nil {
		k.Given = func() (string, bool) {
			text, ok := given()
			return text, ok && !k.zero()
		}
	}
	return k
}

// ReadSection reads a mapping whose legal keys are given. line is where a
// missing key is reported.
func ReadSection(faults *Faults, node *yaml.Node, path string, line int, keys []Key) {
	if node.Kind != yaml.MappingNode || node.ShortTag() != "!!map" {
		mismatch(faults, node, path, "a mapping with the keys "+strings.Join(KeyNames(keys), ", "), nil)
		return
	}
	seen := make(map[string]int, len(keys))
	for i := 0; i+1 < len(node.Content) && !faults.hidden; i += 2 {
		name, value := node.Content[i], node.Content[i+1]
		if name.Kind == yaml.AliasNode || name.ShortTag() == "!!merge" {
			faults.Add(name.Line, "%s%s", Prefix(path), AliasProblem)
			continue
		}
		index := slices.IndexFunc(keys, func(k Key) bool { return name.Kind == yaml.ScalarNode && k.Name == name.Value })
		if index < 0 {
			faults.Add(name.Line, "%sunknown key %s: %s", Prefix(path), Quote(name.Value), suggest(name.Value, keys))
			continue
		}
		full := Join(path, name.Value)
		if first, twice := seen[name.Value]; twice {
			faults.Add(name.Line, "%s: duplicate key, first given at line %d", full, first)
			continue
		}
		seen[name.Value] = name.Line
		keys[index].Read(faults, value, full, name.Line)
	}
	if faults.hidden {
		return // enough is wrong already
	}
	for _, k := range keys {
		if _, given := seen[k.Name]; k.Required && !given {
			faults.Add(line, "%sthe key %s is missing", Prefix(path), k.Name)
		}
	}
}

// Elements returns the items of a list, which must number least or more.
func Elements(faults *Faults, node *yaml.Node, path, want string, least int) []*yaml.Node {
	if node.Kind != yaml.SequenceNode || node.ShortTag() != "!!seq" {
		mismatch(faults, node, path, want, nil)
		return nil
	}
	if len(node.Content) < least {
		faults.Add(node.Line, "%s: want at least %d entry, not an empty list", path, least)
	}
	return node.Content
}

// mismatch reports that node is not what the key wants. hint may be nil.
func mismatch(faults *Faults, node *yaml.Node, path, want string, hint error) {
	message := fmt.Sprintf("%swant %s, not %s", Prefix(path), want, describe(node))
	if hint != nil && hint.Error() != "" {
		message += ": " + hint.Error()
	}
	if node.Kind == yaml.AliasNode {
		message = Prefix(path) + AliasProblem
	}
	faults.Add(node.Line, "%s", message)
}

// describe names what the file has.
func describe(node *yaml.Node) string {
	switch {
	case node.Kind == yaml.MappingNode:
		return "a mapping"
	case node.Kind == yaml.SequenceNode:
		return "a list"
	case node.ShortTag() == "!!null":
		return "nothing (give a value or remove the key)"
	case node.Style&yaml.TaggedStyle != 0:
		return fmt.Sprintf("%s tagged %s", Quote(node.Value), Quote(node.Tag))
	case node.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0:
		return "the text " + Quote(node.Value)
	}
	return Quote(node.Value)
}

// Prefix returns "path: ", nothing for the file as a whole.
func Prefix(path string) string {
	if path == "" {
		return ""
	}
	return path + ": "
}

// Join appends a key to a path.
func Join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// KeyNames are those of the keys that may be given.
func KeyNames(keys []Key) []string {
	list := make([]string, 0, len(keys))
	for _, k := range keys {
		if !k.Foreign {
			list = append(list, k.Name)
		}
	}
	return list
}

// suggest names the legal keys nearest to an unknown one, or all of them when
// none is near.
func suggest(unknown string, keys []Key) string {
	near := model.Near(unknown, KeyNames(keys))
	if len(near) == 0 {
		return "use " + strings.Join(KeyNames(keys), ", ")
	}
	return "did you mean " + strings.Join(near, " or ") + "?"
}

// ValueOf returns the value of a mapping's key, nil where it has none.
func ValueOf(mapping *yaml.Node, key string) *yaml.Node {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			return mapping.Content[i+1]
		}
	}
	return nil
}
