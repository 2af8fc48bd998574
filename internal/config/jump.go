package config

import (
	"slices"

	"github.com/realmgate/realmgate/internal/nf"
)

// jumpsTo is the chain that a function goes on in, "" for none.
func (f *functionDraft) jumpsTo() string {
	if j, jumps := f.own.(nf.Jumper); jumps {
		return j.Chain()
	}
	return ""
}

// sends reports whether the function says where flows go.
func (f *functionDraft) sends() bool {
	_, sends := f.own.(nf.TargetLines)
	return sends
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
			name := f.jumpsTo()
			if name == "" {
				continue
			}
			line, _ := f.given.Has("chain")
			place, known := places[name]
			if !known {
				d.faults.Add(line, "chains[%d].functions[%d].chain: there is no chain %s", i, j, name)
				continue
			}
			to[i] = append(to[i], place)
			if reaches(to, place, i, map[int]bool{}) {
				d.faults.Add(line, "chains[%d].functions[%d].chain: jumps go round in a circle: from %s one comes back to %s",
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
