package config

import (
	"cmp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/realmgate/realmgate/internal/schema"
)

// Use is which function it is.
type Use uint8

// The functions.
const (
	UseFilter     Use = iota // drops by the flow's addresses, protocol and ports
	UseDoSDenial             // drops what comes too fast
	UseRateLimit             // lets through so much
	UseJump                  // goes on in another chain
	UseDnat                  // says to which private endpoint a flow goes
	UseMultipath             // says to which of several private endpoints a flow goes
	UseFirstBytes            // drops by what a flow begins with
	UseMirror                // copies every packet to who captures
	UseObject                // a user's own
)

// uses are the words of the configuration, and the keys that only some functions have.
var uses = []struct {
	word string
	keys []string
}{
	UseFilter:     {"filter", []string{"deny", "allow"}},
	UseDoSDenial:  {"dos-denial", []string{"threshold", "mode", "window", "burst", "per", "entries"}},
	UseRateLimit:  {"rate-limit", []string{"new", "packets", "bytes", "burst", "per", "entries"}},
	UseJump:       {"jump", []string{"chain", "when"}},
	UseDnat:       {"dnat", []string{"to", "port"}},
	UseMultipath:  {"multipath", []string{"backends", "check"}},
	UseFirstBytes: {"first-bytes", []string{"deny_bytes", "allow_bytes"}},
	UseMirror:     {"mirror", nil},
	UseObject:     {"a function of your own", []string{"may", "per"}},
}

// String returns the word of the configuration.
func (u Use) String() string { return uses[u].word }

// Fail is what becomes of a packet that a function cannot judge.
type Fail uint8

// A packet that a function cannot judge is dropped, or left to the next function.
const (
	FailClosed Fail = iota
	FailOpen
)

// String returns the word of the configuration.
func (f Fail) String() string { return schema.Word(int(f), "fail", "closed", "open") }

// particular marks keys that only some functions have, so that others are told.
func (f *functionDraft) particular(keys ...schema.Key) []schema.Key {
	for i, k := range keys {
		read := k.Read
		keys[i].Read = func(faults *schema.Faults, node *yaml.Node, path string, line int) {
			f.given = append(f.given, schema.At[string]{Value: k.Name, Line: line})
			read(faults, node, path, line)
		}
	}
	return keys
}

// gave reports whether the file gives the key, and on which line.
func (f *functionDraft) gave(name string) (line int, given bool) {
	i := slices.IndexFunc(f.given, func(g schema.At[string]) bool { return g.Value == name })
	if i < 0 {
		return f.line, false
	}
	return f.given[i].Line, true
}

// check says which keys the function does not have, and what else its own contradict.
func (f *functionDraft) check(faults *schema.Faults, path string) {
	if f.line == 0 {
		return // nobody knows which it is
	}
	use := uses[f.function.Use]
	for _, g := range f.given {
		if !slices.Contains(use.keys, g.Value) {
			faults.Add(g.Line, "%s: %s has no %s: it has %s", path, use.word, g.Value, cmp.Or(strings.Join(use.keys, ", "), "no key of its own"))
		}
	}
	if f.function.Use != UseMultipath {
		f.function.Multipath = Multipath{}
	}
	switch f.function.Use {
	case UseDoSDenial:
		f.checkDenial(faults, path)
		return
	case UseRateLimit:
		f.checkLimit(faults, path)
		return
	case UseJump:
		if line, given := f.gave("chain"); !given {
			faults.Add(line, "%s: the key chain is missing", path)
		}
	case UseDnat:
		if line, given := f.gave("to"); !given {
			faults.Add(line, "%s: the key to is missing", path)
		}
	case UseMultipath:
		f.checkMultipath(faults, path)
	case UseFirstBytes:
		f.checkFirstBytes(faults, path)
	case UseObject:
		f.checkObject(faults, path)
	}
	f.function.Meter = Meter{}
}

// checkJumps says where jumps go nowhere, or round in a circle.
func (d *draft) checkJumps() {
	places := map[string]int{}
	for i, c := range d.chains {
		places[c.chain.Name] = i
	}
	to := make([][]int, len(d.chains))
	for i, c := range d.chains {
		for j, f := range c.functions {
			if f.function.Use != UseJump || f.function.Jump.Chain == "" {
				continue
			}
			line, _ := f.gave("chain")
			place, known := places[f.function.Jump.Chain]
			if !known {
				d.faults.Add(line, "chains[%d].functions[%d].chain: there is no chain %s", i, j, f.function.Jump.Chain)
				continue
			}
			to[i] = append(to[i], place)
			if reaches(to, place, i, map[int]bool{}) {
				d.faults.Add(line, "chains[%d].functions[%d].chain: jumps go round in a circle: from %s one comes back to %s",
					i, j, f.function.Jump.Chain, c.chain.Name)
				to[i] = to[i][:len(to[i])-1]
			}
		}
	}
}

// reaches reports whether jumps lead from one chain to another. Those that have been
// left before are not followed again: there may be ever more ways to them.
func reaches(to [][]int, from, wanted int, left map[int]bool) bool {
	if from == wanted {
		return true
	}
	left[from] = true
	return slices.ContainsFunc(to[from], func(next int) bool { return !left[next] && reaches(to, next, wanted, left) })
}
