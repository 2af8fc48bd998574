package settings

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/realmgate/realmgate/internal/schema"
)

// orderFunctions puts the functions of a chain into the order in which they are asked:
// by priority, equal ones as they are given, and before and after what they name. line
// is the chain's.
func orderFunctions(faults *schema.Faults, drafts []*functionEntry, path string, line int) []Function {
	places := map[string]int{}
	list := make([]Function, len(drafts))
	for i, f := range drafts {
		f.function.Name = f.name()
		if first, twice := places[f.function.Name]; twice && f.function.Name != "" {
			faults.Add(cmp.Or(f.nameLine, f.given.Line), "%s.functions[%d].name: %s is the name of functions[%d] too: give each its own", path, i, f.function.Name, first)
		}
		places[f.function.Name] = i
		list[i] = f.function
	}
	earlier := make([][]int, len(drafts)) // whom each must follow
	for i, f := range drafts {
		for _, other := range f.before {
			if place, known := named(faults, places, other, fmt.Sprintf("%s.functions[%d].before", path, i)); known {
				earlier[place] = append(earlier[place], i)
				list[i].Before = append(list[i].Before, other.Value)
			}
		}
		for _, other := range f.after {
			if place, known := named(faults, places, other, fmt.Sprintf("%s.functions[%d].after", path, i)); known {
				earlier[i] = append(earlier[i], place)
				list[i].After = append(list[i].After, other.Value)
			}
		}
	}
	return ordered(faults, list, earlier, path, line)
}

func named(faults *schema.Faults, places map[string]int, other schema.At[string], path string) (int, bool) {
	place, known := places[other.Value]
	if !known {
		faults.Add(other.Line, "%s: the chain has no function %s", path, other.Value)
	}
	return place, known
}

// ordered takes, again and again, the first of those that wait for nobody.
func ordered(faults *schema.Faults, list []Function, earlier [][]int, path string, line int) (done []Function) {
	rest := make([]int, len(list))
	for i := range rest {
		rest[i] = i
	}
	slices.SortStableFunc(rest, func(a, b int) int { return cmp.Compare(list[a].Priority, list[b].Priority) })
	for len(rest) > 0 {
		next := slices.IndexFunc(rest, func(i int) bool {
			return !slices.ContainsFunc(earlier[i], func(e int) bool { return slices.Contains(rest, e) })
		})
		if next < 0 {
			var names []string
			for _, i := range rest {
				names = append(names, list[i].Name)
			}
			faults.Add(line, "%s.functions: before and after of %s go round in a circle", path, strings.Join(names, ", "))
			return nil
		}
		done = append(done, list[rest[next]])
		rest = slices.Delete(rest, next, next+1)
	}
	return done
}
