package settings

import (
	"slices"

	"github.com/realmgate/realmgate/internal/nf"
	"github.com/realmgate/realmgate/internal/schema"
)

// jumpsTo is the chain that a function goes on in, "" for none.
func (f *functionEntry) jumpsTo() string {
	if j, jumps := f.own.(nf.Jumper); jumps {
		return j.Chain()
	}
	return ""
}

// sends reports whether the function says where flows go.
func (f *functionEntry) sends() bool {
	_, sends := f.own.(nf.TargetLines)
	return sends
}

// checkJumps says where jumps go nowhere, or round in a circle.
func (d *ChainsDraft) checkJumps(faults *schema.Faults) {
	places := map[string]int{}
	for i, c := range d.entries {
		places[c.chain.Name] = i
	}
	to := make([][]int, len(d.entries))
	for i, c := range d.entries {
		for j, f := range c.functions {
			name := f.jumpsTo()
			if name == "" {
				continue
			}
			line, _ := f.given.Has("chain")
			place, known := places[name]
			if !known {
				faults.Add(line, "chains[%d].functions[%d].chain: there is no chain %s", i, j, name)
				continue
			}
			to[i] = append(to[i], place)
			if reaches(to, place, i, map[int]bool{}) {
				faults.Add(line, "chains[%d].functions[%d].chain: jumps go round in a circle: from %s one comes back to %s",
					i, j, name, c.chain.Name)
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
