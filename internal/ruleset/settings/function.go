package settings

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/realmgate/realmgate/internal/nf"
	"github.com/realmgate/realmgate/internal/nf/functions"
	"github.com/realmgate/realmgate/internal/schema"
)

// Function is a network function at its place in a chain.
type Function struct {
	Use           string // the word, or the path of a user's own
	Name          string // unique in the chain
	Priority      int    // 0 to 65535: lower ones are asked first
	Before, After []string
	Fail          Fail
	Settings      nf.Settings // its own, as its folder below internal/nf has them
}

// Fail is what becomes of a packet that a function cannot judge.
type Fail uint8

// A packet that a function cannot judge is dropped, or left to the next function.
const (
	FailClosed Fail = iota
	FailOpen
)

// String returns the word of the configuration.
func (f Fail) String() string { return schema.Word(int(f), "fail", "closed", "open") }

type functionEntry struct {
	function      Function
	nameLine      int
	before, after []schema.At[string]
	kind          *nf.Kind // nil where nobody knows which it is
	own           nf.Draft
	given         schema.Given
	keys          []schema.Key // that it may have
}

// functionsKey is a key with a list of functions. Which keys one has depends on what stands after `use`.
func functionsKey(name string, target *[]*functionEntry) schema.Key {
	documented := new(functionEntry).common()
	for i := range functions.All {
		kind := &functions.All[i]
		documented = append(documented, schema.Key{Variant: true, Name: kind.Word, Keys: kind.New("").Keys()})
	}
	return schema.Key{
		Name: name, Kind: "list of sections", Standard: "none", Keys: documented,
		Entries: func() (entries [][]schema.Key) {
			for _, f := range *target {
				entries = append(entries, f.keys)
			}
			return entries
		},
		Read: func(faults *schema.Faults, node *yaml.Node, path string, _ int) {
			for i, item := range schema.Elements(faults, node, path, "a list, each entry a mapping", 0) {
				f := new(functionEntry)
				*target = append(*target, f)
				f.read(faults, item, fmt.Sprintf("%s[%d]", path, i), item.Line)
			}
		},
	}
}

// read reads the section of a function.
func (f *functionEntry) read(faults *schema.Faults, node *yaml.Node, path string, line int) {
	f.given = schema.Given{Faults: faults, Path: path, Line: line}
	keys := f.common()
	if use := schema.ValueOf(node, "use"); node.Kind == yaml.MappingNode && use != nil && use.Kind == yaml.ScalarNode {
		if kind, err := kindOf(use.Value); kind != nil && err == nil {
			f.kind, f.own = kind, kind.New(use.Value)
			keys = append(keys, f.given.Noting(f.own.Keys()...)...)
		}
	}
	f.keys = append(keys, f.others(keys)...)
	schema.ReadSection(faults, node, path, line, f.keys)
	f.given.Name = f.function.Name
}

// common are the keys that all functions have.
func (f *functionEntry) common() []schema.Key {
	f.function.Priority = defaultPriority
	return []schema.Key{
		schema.OneAt("use", &f.function.Use, &f.given.Line, used()).Must(),
		schema.OneAt("name", &f.function.Name, &f.nameLine, schema.Label()).Otherwise("the word after `use`, or the file's name"),
		schema.One("priority", &f.function.Priority, schema.Number(0, mostPriority)),
		schema.Many("before", &f.before, schema.Label(), 1),
		schema.Many("after", &f.after, schema.Label(), 1),
		schema.One("fail", &f.function.Fail, schema.Choice(FailClosed, FailOpen)),
	}
}

// others are keys that only other functions have: it is a fault to give them, where it is known which function it is.
func (f *functionEntry) others(keys []schema.Key) (list []schema.Key) {
	for _, kind := range functions.All {
		for _, k := range kind.New("").Keys() {
			if slices.ContainsFunc(slices.Concat(keys, list), func(o schema.Key) bool { return o.Name == k.Name }) {
				continue
			}
			list = append(list, schema.Key{Name: k.Name, Foreign: true, Read: func(faults *schema.Faults, _ *yaml.Node, path string, line int) {
				if f.kind != nil {
					faults.Add(line, "%s%s has no %s: it has %s", schema.Prefix(f.given.Path), f.kind.Word, k.Name,
						cmp.Or(strings.Join(schema.KeyNames(f.own.Keys()), ", "), "no key of its own"))
				}
			}})
		}
	}
	return list
}

// kindOf finds the function that a text after `use` means; the error says what is wrong with a path.
func kindOf(use string) (*nf.Kind, error) {
	for i := range functions.All {
		kind := &functions.All[i]
		if kind.Path == nil {
			if kind.Word == use {
				return kind, nil
			}
			continue
		}
		if meant, err := kind.Path(use); meant {
			return kind, err
		}
	}
	return nil, schema.ErrNoHint
}

// used is what stands after `use`: a word, or a path.
func used() schema.Kind[string] {
	var words []string
	for _, kind := range functions.All {
		if kind.Path == nil {
			words = append(words, kind.Word)
		}
	}
	k := schema.OneOf(words...)
	k.Open = true
	k.Name, k.Allowed, k.Want = "word or path", "a function's word, or ./NAME.bpf.o", k.Want+", or the path of your own (./name.bpf.o)"
	k.Parse = func(text string) (string, error) {
		_, err := kindOf(text)
		return text, err
	}
	return k
}

// name is what the function is called: where it has no name, that of its own, or the word of its use.
func (f *functionEntry) name() string {
	own := ""
	if named, has := f.own.(nf.Named); has {
		own = named.Name()
	}
	return cmp.Or(f.function.Name, own, f.function.Use)
}

// finish checks the function's own keys.
func (f *functionEntry) finish() {
	if f.own != nil && f.function.Use != "" {
		f.function.Settings = f.own.Finish(&f.given)
	}
}

// sets are the places that name a set.
func (f *functionEntry) sets() []schema.Named {
	if user, uses := f.own.(nf.SetUser); uses {
		return user.Sets()
	}
	return nil
}

// ReadFunction reads the entry of a function alone, and returns its name.
func ReadFunction(faults *schema.Faults, entry *yaml.Node) (name string) {
	f := new(functionEntry)
	f.read(faults, entry, "", 1)
	return f.name()
}
