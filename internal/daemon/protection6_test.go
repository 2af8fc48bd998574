package daemon

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/realmgate/realmgate/internal/guard/geo"
	"github.com/realmgate/realmgate/internal/guard/lists"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/nf"
	"github.com/realmgate/realmgate/internal/ruleset"
)

// Sets, lists and geofences of both families are in one table; the narrowest place
// decides of IPv6, too, and special addresses are nowhere.
func TestProtectionOfBothFamilies(t *testing.T) {
	t.Parallel()
	table := geoTable(t, finland, "", "2a00:1::,2a00:1:ffff:ffff:ffff:ffff:ffff:ffff,FI\n")
	d := document(t, text+`
sets: [{name: some, addresses: [198.51.100.0/24, "2001:db8:5::/48"]}]
lists: [{name: drop, url: "https://lists.example/drop.txt"}]
protection:
  geo_table: `+table+`
  allowlist: ["2001:db8:5::1"]
  blocklist: [{set: some}, {list: drop, direction: in}, "2001:db8:6::/64"]
  geofence: [{deny: [country:FI, "fd00::/16"], allow: ["2a00:1:2::/48"], unknown: allow, default: allow}]
`)
	var listed model.Ranges
	listed.Add(netip.MustParsePrefix("2001:db8:7::/48"))
	v, err := newView(d, nil, nil, lists.Contents{"drop": listed.Set()})
	if err != nil {
		t.Fatal(err)
	}
	if v.geofences, err = geo.GeofencesOf(d.Config); err != nil {
		t.Fatal(err)
	}
	remote := v.rules().Policy().Protection[0].Function.(nf.Allowlist).Remote
	for _, c := range []struct {
		what  string
		set   *model.AddressSet
		texts string // of which the first are in it, and those behind "not" are not
	}{
		{"allowed", remote.In.Allowed, "2001:db8:5::1 not 2001:db8:5::2"},
		{"blocked in", remote.In.Blocked, "2001:db8:5::2 2001:db8:6::7 2001:db8:7::7 198.51.100.7 not 2001:db8:6:1::"},
		{"blocked out", remote.Out.Blocked, "2001:db8:5::2 2001:db8:6::7 not 2001:db8:7::7"},
		{"fenced", remote.Out.Fenced, "2a00:1::1 2a00:1:3:: fd00:0:0:1::1 77.0.0.1 not 2a00:1:2::1 2a00:2::1 fd01::1 fe80::1 ff02::1"},
	} {
		has := true
		for _, a := range strings.Fields(c.texts) {
			if a == "not" {
				has = false
			} else if c.set.Contains(netip.MustParseAddr(a)) != has {
				t.Errorf("%s: %s is there: %v", c.what, a, !has)
			}
		}
	}
	if err := Check(d); err != nil {
		t.Errorf("the check: %v", err)
	}
	if err := ruleset.NamedIn(v.config, v.lists).Allowed(v.config)(netip.MustParsePrefix("2001:db8:5::/64")); err == nil || !strings.HasSuffix(err.Error(), "the allowlist has it: 2001:db8:5::1/128") {
		t.Errorf("a ban of what is allowed: %v", err)
	}
}
