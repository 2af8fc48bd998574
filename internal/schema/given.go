package schema

import (
	"slices"

	"go.yaml.in/yaml/v3"
)

// Given is a section whose keys are noted as they are read.
type Given struct {
	*Faults
	Path string
	Line int    // where it begins
	Name string // that the file gives it
	keys []At[string]
}

// Noting are keys whose lines are noted, also where their values are wrong.
func (g *Given) Noting(keys ...Key) []Key {
	for i, k := range keys {
		read := k.Read
		keys[i].Read = func(faults *Faults, node *yaml.Node, path string, line int) {
			g.keys = append(g.keys, At[string]{k.Name, line})
			read(faults, node, path, line)
		}
	}
	return keys
}

// Has reports whether the file gives a key, and on which line; else that of the section.
func (g *Given) Has(name string) (line int, given bool) {
	i := slices.IndexFunc(g.keys, func(k At[string]) bool { return k.Value == name })
	if i < 0 {
		return g.Line, false
	}
	return g.keys[i].Line, true
}

// Needs is a fault where the file does not give a key.
func (g *Given) Needs(name string) {
	if line, given := g.Has(name); !given {
		g.Add(line, "%s: the key %s is missing", g.Path, name)
	}
}
