package browser

import (
	"fmt"
	"testing"

	"github.com/realmgate/realmgate/test/lab"
)

// pauses are those of the matrix, each in browsers of its own.
var pauses = []int{2, 10, 30, 58, 70, 90, 110, 125, 300}

// scheme is how the sites of a page are reached.
type scheme struct {
	name    string
	sites   []site
	at      string // the page's origin as it is typed; the first origin without it
	origins []origin
	upgrade bool
}

// The matrix is every scheme with pools of 4 and 16, and every pause in both browsers: 18 of them in a scene of six
// minutes, of which two run side by side (tools/test.sh). It is divided so that a part of the tests ends within 20 minutes.
func matrix(t *testing.T, schemes ...scheme) {
	t.Helper()
	for _, s := range schemes {
		for _, pool := range []int{4, 16} {
			t.Run(fmt.Sprintf("%s, %d addresses", s.name, pool), func(t *testing.T) {
				t.Parallel()
				play(t, scene{pool: pool, sites: s.sites, once: pool == 4, visitors: everyPause(s.at, s.origins, s.upgrade)})
			})
		}
	}
}

func TestMatrixHTTP(t *testing.T) {
	lab.LengthyOnly(t)
	matrix(t, scheme{name: "http", sites: fullSites, origins: plain},
		scheme{name: "http with upgrades", sites: splitSites, origins: split, upgrade: true})
}

func TestMatrixHTTPS(t *testing.T) {
	lab.LengthyOnly(t)
	matrix(t, scheme{name: "wildcard", sites: fullSites, origins: wildcard},
		scheme{name: "own certificates", sites: fullSites, origins: owned})
}

func TestMatrixBoth(t *testing.T) {
	lab.LengthyOnly(t)
	matrix(t, scheme{name: "http beside https with upgrades", sites: bothSites, at: "http://j.foo.example", origins: both, upgrade: true})
}

// TestMoreNamesThanAddresses lets three hosts share two addresses: one of them
// has none, and is refused. Whoever is not refused is at the right host.
func TestMoreNamesThanAddresses(t *testing.T) {
	lab.LengthyOnly(t)
	for _, s := range []scheme{{name: "http", origins: plain}, {name: "wildcard", origins: wildcard}} {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
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
