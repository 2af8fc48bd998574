package config

import (
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/realmgate/realmgate/internal/schema"
)

// Difference is something that two configurations do not have in common: a value of a key, or an entry of a list, which has no other
// in its place.
type Difference struct {
	Key     string // as hosts[hosta.foo.example.].open
	Was, Is string // empty: there is none
}

// Differences says what makes one configuration another, in the order of the reference: by what they mean, with defaults filled
// in, and not by their texts.
func Differences(was, is *Document) []Difference {
	before, keys := was.values()
	after, nextKeys := is.values()
	d := &differ{}
	d.sections("", complete(before, keys), complete(after, nextKeys))
	d.contents(was.Config, is.Config)
	return d.found
}

type differ struct{ found []Difference }

// ordered are the lists whose order means something.
var ordered = []string{"chains", "functions", "geofence", "upstream", "command"}

func (d *differ) add(key, was, is string) { d.found = append(d.found, Difference{key, was, is}) }

// sections compares two mappings.
func (d *differ) sections(path string, was, is *yaml.Node) {
	for _, name := range union(names(was), names(is)) {
		d.values(schema.Join(path, name), name, schema.ValueOf(was, name), schema.ValueOf(is, name))
	}
}

// values compares what a key has on both sides, nil for nothing.
func (d *differ) values(path, name string, was, is *yaml.Node) {
	kind := func(k yaml.Kind) bool { return was != nil && was.Kind == k || is != nil && is.Kind == k }
	switch {
	case kind(yaml.SequenceNode):
		d.lists(path, name, items(was), items(is))
	case kind(yaml.MappingNode):
		d.sections(path, section(was), section(is))
	case shown(was) != shown(is):
		d.add(path, shown(was), shown(is))
	}
}

// lists compares entries with those of the same name or, without one, of the same text.
func (d *differ) lists(path, name string, was, is []*yaml.Node) {
	before, old := labels(was)
	after, now := labels(is)
	for _, label := range union(before, after) {
		switch o, n := old[label], now[label]; {
		case n == nil:
			d.add(path, label, "")
		case o == nil:
			d.add(path, "", label)
		case o.Kind == yaml.MappingNode || n.Kind == yaml.MappingNode:
			d.sections(path+"["+label+"]", section(o), section(n))
		}
	}
	both := func(of []string, other map[string]*yaml.Node) []string {
		return slices.DeleteFunc(of, func(label string) bool { return other[label] == nil })
	}
	if before, after = both(before, now), both(after, old); slices.Contains(ordered, name) && !slices.Equal(before, after) {
		d.add(path, strings.Join(before, ", "), strings.Join(after, ", "))
	}
}

// contents compares the files that configurations name.
func (d *differ) contents(was, is *Config) {
	for _, z := range is.Realm.Zones {
		for _, o := range was.Realm.Zones {
			if o.Name == z.Name && o.File == z.File && o.Text != z.Text {
				d.add("realm.zones["+z.Name.String()+"].file", z.File, z.File+", with other records")
			}
		}
	}
	for _, s := range is.Sets {
		for _, o := range was.Sets {
			if o.Name == s.Name && o.File == s.File && s.File != "" && !reflect.DeepEqual(o.Addresses, s.Addresses) {
				d.add("sets["+s.Name+"].file", s.File, s.File+", with other addresses")
			}
		}
	}
}

// labels are what entries are called, in their order, and which they are.
func labels(entries []*yaml.Node) (list []string, by map[string]*yaml.Node) {
	by = make(map[string]*yaml.Node, len(entries))
	for _, e := range entries {
		label := shown(e)
		if name := schema.ValueOf(e, "name"); e.Kind == yaml.MappingNode && name != nil {
			label = name.Value
		} else if names := schema.ValueOf(e, "names"); e.Kind == yaml.MappingNode && names != nil && len(names.Content) > 0 {
			label = names.Content[0].Value
		}
		unique := label
		for i := 2; by[unique] != nil; i++ {
			unique = label + " #" + strconv.Itoa(i)
		}
		by[unique] = e
		list = append(list, unique)
	}
	return list, by
}

// shown is a node on one line, nothing for nil.
func shown(node *yaml.Node) string {
	if node == nil {
		return ""
	}
	if node.Kind == yaml.ScalarNode {
		return node.Value
	}
	l := &layout{tokens: &tokens{words: map[*yaml.Node]word{}}}
	l.wordsOf(node)
	text, _ := l.brackets(node)
	return text
}

func names(section *yaml.Node) (list []string) {
	for i := 0; i+1 < len(section.Content); i += 2 {
		list = append(list, section.Content[i].Value)
	}
	return list
}

func items(node *yaml.Node) []*yaml.Node {
	switch {
	case node == nil:
		return nil
	case node.Kind == yaml.SequenceNode:
		return node.Content
	}
	return []*yaml.Node{node} // one where there may be several
}

// section is a node as a mapping: a scalar in a section's place is its name.
func section(node *yaml.Node) *yaml.Node {
	switch {
	case node == nil:
		return &yaml.Node{Kind: yaml.MappingNode}
	case node.Kind == yaml.ScalarNode:
		return &yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{{Kind: yaml.ScalarNode, Value: "name"}, node}}
	}
	return node
}

// union is the first list, and what only the second has.
func union(a, b []string) []string {
	has := make(map[string]bool, len(a))
	for _, s := range a {
		has[s] = true
	}
	all := slices.Clone(a)
	for _, s := range b {
		if !has[s] {
			all = append(all, s)
		}
	}
	return all
}
