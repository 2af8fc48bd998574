package browser

import (
	"fmt"
	"testing"
)

// pauses are those of the matrix, each in browsers of its own.
var pauses = []int{2, 10, 30, 58, 70, 90, 110, 125, 300}

// TestMatrix is every scheme with pools of 4 and 16, and every pause in both
// browsers: 18 of them at a time, seven minutes each.
func TestMatrix(t *testing.T) {
	slow(t)
	for _, s := range []struct {
		name    string
		sites   []site
		at      string
		origins []origin
		upgrade bool
	}{
		{"http", fullSites, "", plain, false},
		{"wildcard", fullSites, "", wildcard, false},
		{"own certificates", fullSites, "", owned, false},
		{"http with upgrades", splitSites, "", split, true},
		{"http beside https with upgrades", bothSites, "http://j.foo.example", both, true},
	} {
		for _, pool := range []int{4, 16} {
			t.Run(fmt.Sprintf("%s, %d addresses", s.name, pool), func(t *testing.T) {
				play(t, scene{pool: pool, sites: s.sites, once: pool == 4, visitors: everyPause(s.at, s.origins, s.upgrade)})
			})
		}
	}
}

// TestMoreNamesThanAddresses lets three hosts share two addresses: one of them
// has none, and is refused. Whoever is not refused is at the right host.
func TestMoreNamesThanAddresses(t *testing.T) {
	slow(t)
	for _, s := range []struct {
		name    string
		origins []origin
	}{{"http", plain}, {"wildcard", wildcard}} {
		t.Run(s.name, func(t *testing.T) {
			play(t, scene{pool: 2, sites: fullSites, scarce: true, visitors: everyPause("", s.origins, false)})
		})
	}
}

func everyPause(at string, origins []origin, upgrade bool) []visitor {
	var visitors []visitor
	// The longest begin first.
	for i := len(pauses) - 1; i >= 0; i-- {
		for _, browser := range []string{"Chromium", "Firefox"} {
			who := fmt.Sprintf("%s %d", browser, pauses[i])
			visitors = append(visitors, visitor{who: who, at: at, origins: origins, upgrade: upgrade, pauses: []int{pauses[i]}})
		}
	}
	return visitors
}
