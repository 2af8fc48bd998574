package daemon

import (
	"fmt"
	"strings"
	"testing"

	"github.com/realmgate/realmgate/internal/config"
)

// TestGeofenceDefect2_CountryAndContinentCodesAreApart: each of the six codes that is both a
// country's and a continent's denies just what its word says, in both families, from the
// configuration to the packet; the code alone is refused.
func TestGeofenceDefect2_CountryAndContinentCodesAreApart(t *testing.T) {
	t.Parallel()
	collisions := []struct{ code, elsewhere string }{ // elsewhere is a country of the continent
		{"AF", "KE"}, {"AN", "AQ"}, {"AS", "JP"}, {"EU", "FI"}, {"NA", "US"}, {"SA", "BR"},
	}
	var v4, v6 strings.Builder
	remotes := map[string][]string{} // by country
	for i, c := range collisions {
		for k, country := range []string{c.code, c.elsewhere} {
			n := 2*i + k + 1
			fmt.Fprintf(&v4, "%d,%d,%s\n", 77<<24+n<<16, 77<<24+n<<16+65535, country)
			fmt.Fprintf(&v6, "2a00:%x::,2a00:%x:ffff:ffff:ffff:ffff:ffff:ffff,%s\n", n, n, country)
			remotes[country] = []string{fmt.Sprintf("77.%d.0.1", n), fmt.Sprintf("2a00:%x::1", n)}
		}
	}
	table := geoTable(t, v4.String(), "", v6.String())
	denying := func(place string) string {
		return orderText + "protection: {geo_table: " + table + ", geofence: [{deny: [" + place + "], unknown: allow}]}\n"
	}
	b := newRig(t, denying("country:FI"))
	b.ready(t)
	r := ruled{b}
	for _, c := range collisions {
		if err := b.reloadWith(denying("country:" + c.code)); err != nil {
			t.Fatal(err)
		}
		r.want("geofence", "geofence", remotes[c.code]...)
		r.want("pass", "pass", remotes[c.elsewhere]...)
		if err := b.reloadWith(denying("continent:" + c.code)); err != nil {
			t.Fatal(err)
		}
		r.want("geofence", "geofence", remotes[c.elsewhere]...)
		if c.code != "EU" { // which, as a country's code, is somewhere in Europe
			r.want("pass", "pass", remotes[c.code]...)
		}
		if _, err := config.NewDocument("test.yaml", []byte(denying(c.code))); err == nil || !strings.Contains(err.Error(), "both country:"+c.code+" and continent:"+c.code) {
			t.Errorf("%s alone: %v", c.code, err)
		}
	}
}

// TestProtectionRule1_ARefusedFileChangesNothing: a file with a key, a prefix or a country
// that is none is refused by a reload, and the generation before it judges on.
func TestProtectionRule1_ARefusedFileChangesNothing(t *testing.T) {
	t.Parallel()
	const good = "protection:\n  geo_table: PLACES\n  blocklist: [192.0.2.0/24, \"2001:db8:7::/48\"]\n  geofence: [{deny: [country:FI], unknown: allow}]\n"
	r := newRuled(t, good)
	before := r.view.Load().generation
	for _, c := range [][2]string{
		{"blocklist", "blocklst"}, {"192.0.2.0/24", "192.0.2.1/24"}, {"country:FI", "country:XX"}, {"unknown", "unknwn"}, {"PLACES", "none.table"}, {"blocklist: [", "blocklist: [{set: none}, "},
	} {
		if err := r.reloadWith(orderText + strings.ReplaceAll(strings.Replace(good, c[0], c[1], 1), "PLACES", r.view.Load().config.Protection.GeoTable)); err == nil {
			t.Errorf("%s was taken", c[1])
		}
		if now := r.view.Load().generation; now != before {
			t.Errorf("with %s generation %d came, before %d", c[1], now, before)
		}
	}
	r.want("blocklist", "blocklist", "192.0.2.1", "2001:db8:7::1")
	r.want("geofence", "geofence", "77.1.0.1", "2a00:1::1")
	r.want("pass", "pass", "77.2.0.1", "2a00:2::1")
}
