package daemon

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/explain"
	"github.com/realmgate/realmgate/internal/model"
)

// ruled is a gateway under a protection, with flows of both families by which it is asked:
// from outside to a host by dnat or forwarded, and from the host.
type ruled struct{ *rig }

// somewhere is a geo table: 77.1.0.0/16 and 2a00:1::/32 are in Finland, .2 and :2: in
// Japan and of AS64500, .3 and :3: in Saudi Arabia, .4 and :4: in Brazil; all else nowhere.
func somewhere(t *testing.T) string {
	t.Helper()
	const v4 = "1291911168,1291976703,FI\n1291976704,1292042239,JP\n1292042240,1292107775,SA\n1292107776,1292173311,BR\n"
	var v6 strings.Builder
	for i, country := range []string{"FI", "JP", "SA", "BR"} {
		n := string(rune('1' + i))
		v6.WriteString("2a00:" + n + "::,2a00:" + n + ":ffff:ffff:ffff:ffff:ffff:ffff," + country + "\n")
	}
	return geoTable(t, v4, "77.2.0.0,77.2.255.255,64500,Somebody\n|2a00:2::,2a00:2:ffff:ffff:ffff:ffff:ffff:ffff,64500,Somebody\n", v6.String())
}

// newRuled takes what a configuration has from the sets on; PLACES is the geo table.
func newRuled(t *testing.T, more string) ruled {
	t.Helper()
	b := newRig(t, orderText+strings.ReplaceAll(more, "PLACES", somewhere(t)))
	b.ready(t)
	return ruled{b}
}

// ends is how a flow of a remote end ends, as explained and as a packet then does: "pass",
// or the function that drops it.
func (b ruled) ends(remote string, d model.Direction) string {
	b.t.Helper()
	f := explain.Flow{Direction: d, Protocol: model.TCP, Source: netip.MustParseAddr(remote), From: somePort, Destination: netip.MustParseAddr("198.18.0.3"), Port: 443}
	host := netip.MustParseAddr("10.0.0.101")
	if f.Source.Is6() {
		host = netip.MustParseAddr("2001:db8:2::5")
		f.Destination = host
	}
	if d == model.Out {
		f.Source, f.Destination = host, f.Source
	}
	x, err := b.explain(api.ExplainRequest{Address: f.Source, ToAddress: f.Destination, Protocol: f.Protocol, Port: f.Port, Direction: d})
	if err != nil {
		b.t.Fatal(err)
	}
	end := b.send(d == model.In, f.Packet())
	if end.IsDrop() == x.Passes || end.IsDrop() && end != x.Reason {
		b.t.Errorf("%s, %s: explained %s, and then it ended with %s", remote, d, said(x), end)
	}
	if x.Passes {
		return "pass"
	}
	return strings.TrimPrefix(x.Function, "protection/")
}

// want is how flows from and to remote ends are to end.
func (b ruled) want(in, out string, remotes ...string) {
	b.t.Helper()
	for _, r := range remotes {
		if gotIn, gotOut := b.ends(r, model.In), b.ends(r, model.Out); gotIn != in || gotOut != out {
			b.t.Errorf("%s: in %s, out %s; want %s, %s", r, gotIn, gotOut, in, out)
		}
	}
}

// TestProtectionRule4_Direction: an entry of a list, and a geofence, hold for flows that
// come in, that go out, or for both, as they say.
func TestProtectionRule4_Direction(t *testing.T) {
	t.Parallel()
	r := newRuled(t, `sets: [{name: some, addresses: [192.0.2.16/28, "2001:db8:16::/48"]}]
protection:
  geo_table: PLACES
  allowlist:
    - {remote: 192.0.2.8, direction: in}
    - {remote: "2001:db8:8::8", direction: in}
  blocklist:
    - 192.0.2.0/29
    - "2001:db8:7::/48"
    - {remote: 192.0.2.8, direction: any}
    - {remote: "2001:db8:8::8", direction: any}
    - {remote: 192.0.2.9, direction: in}
    - {remote: "2001:db8:9::9", direction: in}
    - {remote: 192.0.2.10, direction: out}
    - {remote: "2001:db8:10::10", direction: out}
    - {set: some, direction: out}
  geofence:
    - {direction: in, deny: [country:FI], unknown: allow}
    - {direction: out, deny: [country:JP], unknown: allow}
`)
	r.want("blocklist", "blocklist", "192.0.2.1", "2001:db8:7::1")
	r.want("pass", "blocklist", "192.0.2.8", "2001:db8:8::8")
	r.want("blocklist", "pass", "192.0.2.9", "2001:db8:9::9")
	r.want("pass", "blocklist", "192.0.2.10", "2001:db8:10::10", "192.0.2.17", "2001:db8:16::17")
	r.want("geofence", "pass", "77.1.0.1", "2a00:1::1")
	r.want("pass", "geofence", "77.2.0.1", "2a00:2::1")
	r.want("pass", "pass", "77.3.0.1", "2a00:3::1", "192.0.2.99", "2001:db8:99::99")
}

// TestProtectionRule5_UnknownIsSaid: what becomes of addresses of which nobody knows the
// country is said apart from the default; special ones are not unknown; and a geofence that
// does not say it is refused.
func TestProtectionRule5_UnknownIsSaid(t *testing.T) {
	t.Parallel()
	const special = "10.99.0.1 172.31.0.1 192.168.1.1 100.64.0.1 169.254.1.1 fd00::1 fc00:7::1"
	r := newRuled(t, `protection:
  geo_table: PLACES
  geofence:
    - {direction: in, allow: [country:FI], unknown: deny, default: deny}
    - {direction: out, allow: [country:FI], unknown: allow, default: deny}
`)
	r.want("pass", "pass", append(strings.Fields(special), "77.1.0.1", "2a00:1::1")...)
	r.want("geofence", "pass", "77.9.0.1", "2a00:9::1") // nobody knows where
	r.want("geofence", "geofence", "77.2.0.1", "2a00:2::1")
	before := r.view.Load().generation
	err := r.reloadWith(orderText + "protection: {geofence: [{allow: [country:FI]}]}\n")
	if err == nil || !strings.Contains(err.Error(), "the key unknown is missing") || r.view.Load().generation != before {
		t.Errorf("without unknown: %v", err)
	}
}

// TestProtectionRule6_WhatSaysMoreDecides: a prefix is over an ASN, a country over its
// continent, whichever of them allows, in both families.
func TestProtectionRule6_WhatSaysMoreDecides(t *testing.T) {
	t.Parallel()
	r := newRuled(t, `protection:
  geo_table: PLACES
  geofence:
    - direction: any
      deny: [continent:EU, country:JP, "77.1.7.0/24", "2a00:1:7::/48", continent:AS]
      allow: [country:FI, asn:64500, country:SA, "77.1.7.8", "2a00:1:7::8"]
      unknown: allow
      default: allow
`)
	r.want("pass", "pass", "77.1.0.1", "2a00:1::1")           // a country, on a continent that is denied
	r.want("geofence", "geofence", "77.1.7.1", "2a00:1:7::1") // a prefix, of a country that is allowed
	r.want("pass", "pass", "77.1.7.8", "2a00:1:7::8")         // an address, of that prefix
	r.want("pass", "pass", "77.2.0.1", "2a00:2::1")           // an ASN, of a country that is denied
	r.want("pass", "pass", "77.3.0.1", "2a00:3::1")
}

// TestGeofenceDefect3_IPv6IsJudgedLikeIPv4: whatever a list, a set, a ban or a geofence says
// of addresses of both families, it is the same for both.
func TestGeofenceDefect3_IPv6IsJudgedLikeIPv4(t *testing.T) {
	t.Parallel()
	both := [][2]string{
		{"192.0.2.1", "2001:db8:7::1"}, {"192.0.2.9", "2001:db8:8::9"}, {"192.0.2.17", "2001:db8:8::17"}, {"77.1.0.1", "2a00:1::1"}, {"77.2.0.1", "2a00:2::1"},
		{"77.3.0.1", "2a00:3::1"}, {"77.4.0.1", "2a00:4::1"}, {"77.9.0.1", "2a00:9::1"}, {"192.168.7.1", "fd00::7"},
	}
	for name, protection := range map[string]string{
		"lists":     `allowlist: [192.0.2.9, "2001:db8:8::9"], blocklist: [192.0.2.0/29, "2001:db8:7::/48", 192.0.2.9, "2001:db8:8::9", {set: some}]`,
		"allowed":   "geo_table: PLACES, geofence: [{allow: [country:FI, continent:AS], deny: [asn:64500], unknown: deny}]",
		"denied":    "geo_table: PLACES, geofence: [{direction: in, deny: [continent:SA, country:SA], unknown: allow}, {direction: out, deny: [asn:64500], unknown: deny}]",
		"defaulted": `geo_table: PLACES, geofence: [{allow: [country:BR, 192.168.0.0/16, "fd00::/16"], unknown: allow, default: deny}], blocklist: [77.4.0.0/24, "2a00:4::/48"]`,
	} {
		t.Run(name, func(t *testing.T) {
			r := newRuled(t, "sets: [{name: some, addresses: [192.0.2.16/28, \"2001:db8:8::/48\"]}]\nprotection: {"+protection+"}\n")
			dropped := 0
			for _, pair := range both {
				for _, d := range []model.Direction{model.In, model.Out} {
					v4, v6 := r.ends(pair[0], d), r.ends(pair[1], d)
					if v4 != v6 {
						t.Errorf("%s: %s ends with %s, and %s with %s", d, pair[0], v4, pair[1], v6)
					}
					if v4 != "pass" {
						dropped++
					}
				}
			}
			if dropped == 0 || dropped == 2*len(both) {
				t.Errorf("%d flows were dropped: the test shows nothing", dropped)
			}
		})
	}
}
