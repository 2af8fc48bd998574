package ability

import (
	"net/netip"
	"slices"

	"github.com/realmgate/realmgate/internal/model"
)

// place says which host is at which of the addresses, so that those with conflicts are apart as far as the addresses suffice.
// A host is where it was, a new one at the first address with the fewest conflicts; then, the last host first, each moves
// that has fewer elsewhere, until none does. Each move leaves fewer conflicts in all, so that this ends; and whoever is beside
// a conflict then has no fewer anywhere. What came of it once comes of it again.
func place(hosts []model.Name, conflicts map[model.Name][]model.Name, addresses []netip.Addr, had map[model.Name]netip.Addr) map[model.Name]netip.Addr {
	at := make(map[model.Name]netip.Addr, len(hosts))
	if len(addresses) == 0 {
		return at
	}
	best := func(host model.Name) (address netip.Addr, fewest, here int) {
		counts := make([]int, len(addresses))
		for _, other := range conflicts[host] {
			if i := slices.Index(addresses, at[other]); i >= 0 && other != host {
				counts[i]++
			}
		}
		fewest = slices.Min(counts)
		if i := slices.Index(addresses, at[host]); i >= 0 {
			here = counts[i]
		}
		return addresses[slices.Index(counts, fewest)], fewest, here
	}
	for _, host := range hosts {
		if slices.Contains(addresses, had[host]) {
			at[host] = had[host]
		}
	}
	for _, host := range hosts {
		if _, is := at[host]; !is {
			at[host], _, _ = best(host)
		}
	}
	for moved := true; moved; {
		moved = false
		for _, host := range slices.Backward(hosts) {
			if address, fewest, here := best(host); fewest < here {
				at[host], moved = address, true
			}
		}
	}
	return at
}
