package config

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"go.yaml.in/yaml/v3"

	rules "github.com/realmgate/realmgate/internal/ruleset/settings"
	"github.com/realmgate/realmgate/internal/schema"
)

// Place says where a function is put into a chain: beside another, whose priority it
// gets, or behind those of a priority. The zero Place is where the function's own entry
// says.
type Place struct {
	Before, After string // a function of the chain
	Priority      *int
}

// placeKeys are the keys of an entry that say when a function is asked.
var placeKeys = []string{"priority", "before", "after"}

// put adds the entry to the functions of a chain.
func (p Place) put(list, entry *yaml.Node) error {
	if p.Priority != nil {
		setKey(entry, "priority", strconv.Itoa(*p.Priority))
	}
	beside := cmp.Or(p.Before, p.After)
	if beside == "" {
		list.Content = append(list.Content, entry)
		return nil
	}
	i, err := indexOf(list, beside)
	if err != nil {
		return err
	}
	if priority := schema.ValueOf(list.Content[i], "priority"); priority != nil {
		setKey(entry, "priority", priority.Value)
	}
	if p.After != "" {
		i++
	}
	list.Content = slices.Insert(list.Content, i, entry)
	return nil
}

// check sees that the function is where it was to be: others may be before or after it
// by what their own entries say.
func (p Place) check(d *Document, chain, name string) error {
	ch, _ := d.Config.Chain(chain)
	at := func(name string) int {
		return slices.IndexFunc(ch.Functions, func(f rules.Function) bool { return f.Name == name })
	}
	if p.Before != "" && at(name) > at(p.Before) || p.After != "" && at(name) < at(p.After) {
		return fmt.Errorf("chain %s: what before and after of its functions say does not let %s stand there", chain, name)
	}
	return nil
}

func isPlaced(entry *yaml.Node) bool {
	return slices.ContainsFunc(placeKeys, func(key string) bool { return schema.ValueOf(entry, key) != nil })
}

func unplace(entry *yaml.Node) {
	for _, key := range placeKeys {
		dropKey(entry, key)
	}
}

// indexOf finds a function of a list by its name.
func indexOf(list *yaml.Node, name string) (int, error) {
	for i, entry := range list.Content {
		if rules.ReadFunction(new(schema.Faults), entry) == name {
			return i, nil
		}
	}
	return 0, fmt.Errorf("it has no function %q: see realmgate chain show CHAIN", name)
}

func takeOut(list *yaml.Node, name string) (*yaml.Node, error) {
	i, err := indexOf(list, name)
	if err != nil {
		return nil, err
	}
	entry := list.Content[i]
	list.Content = slices.Delete(list.Content, i, i+1)
	return entry, nil
}

func keyIndex(mapping *yaml.Node, key string) int {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			return i
		}
	}
	return -1
}

func setKey(mapping *yaml.Node, key, value string) {
	scalar := func(value string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Value: value} }
	if old := schema.ValueOf(mapping, key); old != nil {
		old.Value = value
		return
	}
	mapping.Content = slices.Insert(mapping.Content, 2, scalar(key), scalar(value)) // behind the first: use, or name
}

func dropKey(mapping *yaml.Node, key string) {
	if i := keyIndex(mapping, key); i >= 0 {
		mapping.Content = slices.Delete(mapping.Content, i, i+2)
	}
}
