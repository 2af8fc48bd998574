package schema

import "go.yaml.in/yaml/v3"

// Draft is keys of the top level that belong together, on their way to the place of their values that it is made with.
type Draft interface {
	Keys() []Key
	// Finish says what contradicts itself or what others say, and completes the values. All are read by then.
	Finish(faults *Faults)
}

// Claimer is a draft with something that others must not have, or ask for. All claim before the first is finished.
type Claimer interface{ Claim(faults *Faults) }

// Read reads a document: what is in it is for one draft each. It returns the keys by which it was read.
func Read(faults *Faults, root *yaml.Node, drafts []Draft) []Key {
	keys := Keys(drafts)
	ReadSection(faults, root, "", 1, keys)
	all := under{drafts: drafts}
	all.Claim(faults)
	all.Finish(faults)
	return keys
}

// Keys are those of all drafts, in their order.
func Keys(drafts []Draft) (keys []Key) {
	for _, d := range drafts {
		keys = append(keys, d.Keys()...)
	}
	return keys
}

// Names are the names that entries of a list have.
type Names Once[string]

// Take notes the name of an entry, and says where another has it. What has no name, of
// which line is 0, has been told so.
func (n Names) Take(faults *Faults, path, name string, line int) {
	if line == 0 {
		return
	}
	if first, twice := Once[string](n).note(name, line); twice {
		faults.Add(line, "%s.name: %s is already used at line %d", path, name, first)
	}
}

// Once are the values of a list that has each once, with the lines where they are first.
type Once[T comparable] map[T]int

// Take notes a value and reports whether it is new; else it says where the list has it.
func (o Once[T]) Take(faults *Faults, path string, value T, line int) bool {
	first, twice := o.note(value, line)
	if twice {
		faults.Add(line, "%s: %v is already listed at line %d", path, value, first)
	}
	return !twice
}

// note returns the line of a value that is there already.
func (o Once[T]) note(value T, line int) (first int, twice bool) {
	if first, twice = o[value]; !twice {
		o[value] = line
	}
	return first, twice
}

// Named is a place that names an entry of another section.
type Named struct {
	Path, Name string
	Line       int
}

// Under is drafts below a key of the top level.
func Under(name string, drafts ...Draft) Draft { return under{name, drafts} }

type under struct {
	name   string
	drafts []Draft
}

func (u under) Keys() []Key { return []Key{Section(u.name, Keys(u.drafts)...)} }

func (u under) Claim(faults *Faults) {
	for _, d := range u.drafts {
		if c, claims := d.(Claimer); claims {
			c.Claim(faults)
		}
	}
}

func (u under) Finish(faults *Faults) {
	for _, d := range u.drafts {
		d.Finish(faults)
	}
}
