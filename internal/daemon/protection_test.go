package daemon

import (
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/realmgate/realmgate/internal/guard/geo"
	"github.com/realmgate/realmgate/internal/nf"
	"github.com/realmgate/realmgate/internal/ruleset"
)

// geoTable writes a table of one country, one ASN, or both, and returns its file; six are
// countries of IPv6.
func geoTable(t *testing.T, countries, asns string, six ...string) string {
	t.Helper()
	var b geo.Builder
	for _, countries := range append(six, countries) {
		if countries == "" {
			continue
		}
		if err := b.ReadCSV(strings.NewReader(countries), geo.Source{Name: "countries"}); err != nil {
			t.Fatal(err)
		}
	}
	for asns := range strings.SplitSeq(asns, "|") { // a source for each family
		if asns == "" {
			continue
		}
		if err := b.ReadCSV(strings.NewReader(asns), geo.Source{Name: "ASNs"}); err != nil {
			t.Fatal(err)
		}
	}
	table, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "geo.table")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := table.Save(file); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

const (
	finland = "1291845632,1308622847,FI\n" // 77.0.0.0/8
	carrier = "77.0.0.0,77.0.255.255,64500,Somebody\n"
)

// A geofence that asks for what its table has not would say nothing, and is refused, by
// check as by a reload.
func TestGeofenceWantsWhatItJudgesBy(t *testing.T) {
	t.Parallel()
	both, countries, asns := geoTable(t, finland, carrier), geoTable(t, finland, ""), geoTable(t, "", carrier)
	for _, c := range []struct{ table, places, want string }{
		{both, "country:FI, asn:64500", ""},
		{countries, "country:FI, 203.0.113.0/24", ""},
		{countries, "country:FI, asn:64500", "has no ASNs, so that asn:64500 says nothing"},
		{asns, "asn:64500", ""},
		{asns, "continent:EU", "has no countries, so that continent:EU says nothing"},
		{both + "x", "country:FI", "run realmgate geo update"},
	} {
		d := document(t, text+"protection: {geo_table: "+c.table+", geofence: [{deny: ["+c.places+"], unknown: allow}]}\n")
		if err := Check(d); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.places, err, c.want)
		}
	}
}

// The gateway's own addresses are exempt, for by them its hosts reach each other, and so
// are its next hops; what both directions have in common is there once.
func TestProtectionExemptsOurOwn(t *testing.T) {
	t.Parallel()
	table := geoTable(t, finland, "")
	d := document(t, strings.Replace(text, "198.18.0.32/28", "77.0.0.32/28", 1)+"outbound: {addresses: [77.0.0.2]}\n"+`
sets: [{name: some, addresses: [198.51.100.0/24]}]
protection:
  geo_table: `+table+`
  allowlist: [203.0.113.9]
  blocklist: [77.0.0.2, {set: some}]
  geofence: [{deny: [country:FI], unknown: allow}]
`)
	v, err := newView(d, d.Config.Outbound.Addresses, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if v.geofences, err = geo.GeofencesOf(d.Config); err != nil {
		t.Fatal(err)
	}
	v.hops = []netip.Addr{netip.MustParseAddr("77.0.0.9")}
	remote := v.rules().Policy().Protection[0].Function.(nf.Allowlist).Remote
	for address, want := range map[string]bool{"77.0.0.2": true, "77.0.0.32": true, "77.0.0.47": true, "77.0.0.9": true, "203.0.113.9": true, "77.0.0.3": false, "77.0.0.48": false} {
		if got := remote.In.Allowed.Contains(netip.MustParseAddr(address)); got != want {
			t.Errorf("%s is exempt: %t, want %t", address, got, want)
		}
	}
	if remote.In != remote.Out || !remote.In.Fenced.Contains(netip.MustParseAddr("77.0.0.3")) || !remote.In.Blocked.Contains(netip.MustParseAddr("198.51.100.1")) {
		t.Errorf("the directions have %+v", remote)
	}
}

// What is allowed for flows of one direction cannot be banned, either.
func TestAllowlistIsNotBanned(t *testing.T) {
	t.Parallel()
	v := viewOf(t, text+"protection: {allowlist: [{remote: 203.0.113.0/28, direction: in}, {remote: 203.0.113.64, direction: out}]}\n")
	allowed := ruleset.NamedIn(v.config, nil).Allowed(v.config)
	for prefix, want := range map[string]string{
		"203.0.113.1/32": "203.0.113.0/28", "203.0.113.0/24": "203.0.113.0/28", "203.0.113.64/32": "203.0.113.64/32", "203.0.113.65/32": "", "203.0.113.16/28": "",
	} {
		if err := allowed(netip.MustParsePrefix(prefix)); (err == nil) != (want == "") || err != nil && !strings.HasSuffix(err.Error(), "the allowlist has it: "+want) {
			t.Errorf("%s: %v, want %q", prefix, err, want)
		}
	}
}

// A check of a file has no addresses of lists, and misses none.
func TestCheckWithoutAnyList(t *testing.T) {
	t.Parallel()
	d := document(t, text+`
lists: [{name: drop, url: "https://lists.example/drop.txt"}, {name: never, url: "https://lists.example/never.txt"}]
protection: {allowlist: [{list: never}], blocklist: [192.0.2.9, {list: drop, direction: in}]}
`)
	if err := Check(d); err != nil {
		t.Error(err)
	}
}
