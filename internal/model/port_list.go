package model

import (
	"cmp"
	"fmt"
	"slices"
)

// Joined says which lists of ports belong together: those of which one protocol and port, leading to the same port
// of the host, is in both, directly or through others. It returns the groups, each with its lists' places, in the
// order of their first. What is everything belongs with nothing else.
func Joined(lists [][]Port) [][]int {
	leader := make([]int, len(lists)) // a list of the same group that comes earlier, or the list itself
	first := func(i int) int {
		for leader[i] != i {
			leader[i] = leader[leader[i]]
			i = leader[i]
		}
		return i
	}
	users := map[Port]int{}
	for i, list := range lists {
		leader[i] = i
		for _, p := range list {
			if p == (Port{}) {
				continue
			}
			other, used := users[p]
			if !used {
				users[p] = i
				continue
			}
			a, b := first(other), first(i)
			leader[max(a, b)] = min(a, b)
		}
	}
	var groups [][]int
	place := map[int]int{}
	for i := range lists {
		f := first(i)
		if f == i {
			place[i] = len(groups)
			groups = append(groups, nil)
		}
		groups[place[f]] = append(groups[place[f]], i)
	}
	return groups
}

// SortPorts puts ports into an order by protocol and port, and leaves out those that are there twice.
func SortPorts(ports []Port) []Port {
	slices.SortFunc(ports, func(a, b Port) int {
		return cmp.Or(cmp.Compare(a.Key(), b.Key()), cmp.Compare(a.To, b.To))
	})
	return slices.Compact(ports)
}

// PortTexts writes ports as ParsePorts reads them, in their order: those that follow one another as a range.
func PortTexts(ports []Port) (texts []string) {
	for i := 0; i < len(ports); i++ {
		from, last := ports[i], i
		for last+1 < len(ports) && follows(ports[last], ports[last+1]) {
			last++
		}
		if last > i {
			texts = append(texts, fmt.Sprintf("%s-%d", from, ports[last].Port))
		} else {
			texts = append(texts, from.String())
		}
		i = last
	}
	return texts
}

// follows reports whether two ports stand beside each other in a range: those of a range are the same on the host.
func follows(p, next Port) bool {
	return p.Port > 0 && p.Port == p.To && next == Port{p.Protocol, p.Port + 1, p.To + 1}
}
