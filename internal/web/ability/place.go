package ability

import (
	"cmp"
	"net/netip"
	"slices"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/model"
)

// cost is what is wrong with a host at an address: with how many others there it has a conflict, and, of the same conflicts,
// how many can other than it can, so that the one or the other holds back.
type cost struct{ conflicts, others int }

func (c cost) less(than cost) bool {
	return cmp.Or(cmp.Compare(c.conflicts, than.conflicts), cmp.Compare(c.others, than.others)) < 0
}

// placing has who is where.
type placing struct {
	addresses []netip.Addr
	conflicts map[model.Name][]model.Name
	can       map[model.Name]datapath.WebPromise // of hosts of which it is known
	at        map[model.Name]int                 // which address
	known     []int                              // of each address: hosts whose can is known
	alike     []map[datapath.WebPromise]int      // and those of them that can the same
}

// place says which host is at which of the addresses, so that those with conflicts are apart as far as the addresses suffice,
// and then those that can less from those that can more. A host is where it was, a new one at the first address at which it
// costs least; then, those first that can what the fewest can, and of them the last host first, each moves that costs less
// elsewhere, until none does. Each move costs less in all, so that this ends; and whoever costs something then costs no less
// anywhere. What came of it once comes of it again.
func place(
	hosts []model.Name, conflicts map[model.Name][]model.Name, can map[model.Name]datapath.WebPromise, addresses []netip.Addr, had map[model.Name]netip.Addr,
) map[model.Name]netip.Addr {
	placed := make(map[model.Name]netip.Addr, len(hosts))
	if len(addresses) == 0 {
		return placed
	}
	p := placing{
		addresses: addresses, conflicts: conflicts, can: can, at: map[model.Name]int{},
		known: make([]int, len(addresses)), alike: make([]map[datapath.WebPromise]int, len(addresses)),
	}
	for i := range p.alike {
		p.alike[i] = map[datapath.WebPromise]int{}
	}
	for _, host := range hosts {
		if i := slices.Index(addresses, had[host]); i >= 0 {
			p.put(host, i)
		}
	}
	for _, host := range hosts {
		if _, is := p.at[host]; !is {
			best, _ := p.best(host)
			p.put(host, best)
		}
	}
	order := p.order(hosts)
	for moved := true; moved; {
		moved = false
		for _, host := range order {
			here := p.cost(host, p.at[host])
			if best, least := p.best(host); least.less(here) {
				p.take(host)
				p.put(host, best)
				moved = true
			}
		}
	}
	for host, i := range p.at {
		placed[host] = addresses[i]
	}
	return placed
}

// order is that in which they move.
func (p *placing) order(hosts []model.Name) []model.Name {
	many := map[datapath.WebPromise]int{}
	for _, host := range hosts {
		if can, known := p.can[host]; known {
			many[can]++
		}
	}
	order := slices.Clone(hosts)
	slices.Reverse(order)
	slices.SortStableFunc(order, func(a, b model.Name) int {
		return cmp.Compare(many[p.can[a]], many[p.can[b]])
	})
	return order
}

func (p *placing) put(host model.Name, i int) {
	p.at[host] = i
	if can, known := p.can[host]; known {
		p.known[i]++
		p.alike[i][can]++
	}
}

func (p *placing) take(host model.Name) {
	i := p.at[host]
	delete(p.at, host)
	if can, known := p.can[host]; known {
		p.known[i]--
		p.alike[i][can]--
	}
}

// cost is that of a host at an address, be it there or not.
func (p *placing) cost(host model.Name, i int) (c cost) {
	for _, other := range p.conflicts[host] {
		if at, is := p.at[other]; is && at == i && other != host {
			c.conflicts++
		}
	}
	if can, known := p.can[host]; known {
		c.others = p.known[i] - p.alike[i][can]
	}
	return c
}

// best is the first address at which a host costs least.
func (p *placing) best(host model.Name) (best int, least cost) {
	least = p.cost(host, 0)
	for i := 1; i < len(p.addresses); i++ {
		if c := p.cost(host, i); c.less(least) {
			best, least = i, c
		}
	}
	return best, least
}
