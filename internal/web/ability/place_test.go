package ability

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/model"
)

func addressesOf(n int) (list []netip.Addr) {
	for i := range n {
		list = append(list, netip.AddrFrom4([4]byte{198, 18, 0, byte(80 + i)}))
	}
	return list
}

func TestPlace(t *testing.T) {
	t.Parallel()
	hosts := []model.Name{"a.", "b.", "c.", "d."}
	for name, c := range map[string]struct {
		conflicts, had string // pairs of hosts; an address for each, - for none
		addresses      int
		want           string
		can            string // a letter for what each can, - where it is not known
	}{
		"nobody conflicts":              {"", "----", 3, "0000", "----"},
		"they stay":                     {"", "2101", 3, "2101", "----"},
		"no such address any more":      {"", "2101", 1, "0000", "----"},
		"two apart":                     {"ab", "0000", 2, "0100", "----"},
		"and again, unmoved":            {"ab", "0100", 2, "0100", "----"},
		"the one that moves away stays": {"", "0100", 2, "0100", "----"},
		"none moves for one that moves": {"ab bc", "0010", 3, "0210", "----"},
		"three of two":                  {"ab bc ac", "0000", 2, "0010", "----"},
		"and where they are already":    {"ab bc ac", "0110", 2, "0110", "----"},
		"the fewest":                    {"ab ac bc ad bd", "0000", 2, "0011", "----"},
		"one address":                   {"ab", "0000", 1, "0000", "----"},
		"none":                          {"ab", "0000", 0, "----", "----"},
		"one that can less":             {"", "0000", 2, "0010", "AABA"},
		"it moves, and no other":        {"", "0000", 2, "1000", "BAAA"},
		"and again, not":                {"", "1000", 2, "1000", "BAAA"},
		"who can other are apart":       {"", "0000", 3, "0121", "ACAC"},
		"who is not asked yet stays":    {"", "0000", 2, "0010", "A-BA"},
		"all the same":                  {"", "0000", 2, "0000", "BBBB"},
		"more kinds than addresses":     {"", "0000", 1, "0000", "ABCD"},
		"certificates come first":       {"ab", "0000", 2, "0111", "AABB"},
		"and then the others":           {"ab", "0000", 3, "0211", "AABB"},
	} {
		addresses, conflicts, had := addressesOf(c.addresses), map[model.Name][]model.Name{}, map[model.Name]netip.Addr{}
		for i := 0; i+1 < len(c.conflicts); i += 3 {
			x, y := model.Name(c.conflicts[i:i+1]+"."), model.Name(c.conflicts[i+1:i+2]+".")
			conflicts[x], conflicts[y] = append(conflicts[x], y), append(conflicts[y], x)
		}
		for i, h := range hosts {
			if at := c.had[i]; at != '-' {
				had[h] = addressesOf(10)[at-'0']
			}
		}
		can := map[model.Name]datapath.WebPromise{}
		for i, h := range hosts {
			if c.can[i] != '-' {
				can[h] = datapath.WebPromise{MSS: uint16(c.can[i])}
			}
		}
		at, got := place(hosts, conflicts, can, addresses, had), ""
		for _, h := range hosts {
			if i := slices.Index(addresses, at[h]); i >= 0 {
				got += fmt.Sprint(i)
			} else {
				got += "-"
			}
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// Nobody costs less elsewhere, and what is so stays so.
func TestPlaceProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var hosts []model.Name
		for i := range rapid.IntRange(0, 12).Draw(t, "hosts") {
			hosts = append(hosts, model.Name(fmt.Sprintf("h%d.", i)))
		}
		addresses := addressesOf(rapid.IntRange(1, 4).Draw(t, "addresses"))
		conflicts, had := map[model.Name][]model.Name{}, map[model.Name]netip.Addr{}
		can := map[model.Name]datapath.WebPromise{}
		for i, a := range hosts {
			if rapid.Bool().Draw(t, "asked") {
				can[a] = datapath.WebPromise{MSS: uint16(rapid.IntRange(1, 3).Draw(t, "can"))}
			}
			for _, b := range hosts[:i] {
				if rapid.IntRange(0, 3).Draw(t, "conflict") == 0 {
					conflicts[a], conflicts[b] = append(conflicts[a], b), append(conflicts[b], a)
				}
			}
			if rapid.Bool().Draw(t, "placed") {
				had[a] = rapid.SampledFrom(addressesOf(5)).Draw(t, "address")
			}
		}
		at := place(hosts, conflicts, can, addresses, had)
		few := func(h model.Name, a netip.Addr) (n int) {
			for _, other := range conflicts[h] {
				if at[other] == a {
					n += 100 // more than all others may be
				}
			}
			for other, what := range can {
				if mine, known := can[h]; known && other != h && at[other] == a && what != mine {
					n++
				}
			}
			return n
		}
		for _, h := range hosts {
			if !slices.Contains(addresses, at[h]) {
				t.Fatalf("%s is at %s", h, at[h])
			}
			for _, a := range addresses {
				if few(h, a) < few(h, at[h]) {
					t.Errorf("%s is at %s and costs less at %s: %v", h, at[h], a, at)
				}
			}
		}
		if again := place(hosts, conflicts, can, addresses, at); !maps.Equal(again, at) {
			t.Errorf("%v became %v", at, again)
		}
		if len(conflicts)+len(can)+len(had) == 0 && slices.ContainsFunc(hosts, func(h model.Name) bool { return at[h] != addresses[0] }) {
			t.Errorf("without conflicts: %v", at)
		}
	})
}
