package daemon

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/guard/geo"
	"github.com/realmgate/realmgate/test/dataplane"
)

// dropped are those of some addresses that the kernel drops.
func (o *offended) dropped(addresses ...string) (list []string) {
	o.t.Helper()
	for _, a := range addresses {
		banned, err := dataplane.IsBanned(o.data, netip.MustParseAddr(a))
		o.must(err)
		if banned {
			list = append(list, a)
		}
	}
	return list
}

// What the kernel drops is what is banned and may be, whatever changes: a reload, the
// bans, or the daemon.
func TestBansFollowWhoIsExempt(t *testing.T) {
	t.Parallel()
	o := newOffended(t, "")
	request := func(prefixes ...string) (r api.BanRequest) {
		for _, p := range prefixes {
			r.Prefixes = append(r.Prefixes, netip.MustParsePrefix(p))
		}
		return r
	}
	change := func(do func(api.BanRequest) (api.BanChange, error), prefixes ...string) {
		t.Helper()
		o.must(o.namespace.Do(func() error { _, err := do(request(prefixes...)); return err }))
	}
	want := func(what string, want ...string) {
		t.Helper()
		got := o.dropped("203.0.113.7", "203.0.113.8", "203.0.113.9", "203.0.114.1", "2001:db8::7", "2001:db8::8")
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s %v are dropped, want %v", what, got, want)
		}
	}
	change(o.AddBans, "203.0.112.0/22", "203.0.113.0/24", "203.0.113.7/32", "2001:db8::/64")
	want("at first", "203.0.113.7", "203.0.113.8", "203.0.113.9", "203.0.114.1", "2001:db8::7", "2001:db8::8")

	friends := text + "ignoreip: [\"2001:db8::8\"]\nprotection: {allowlist: [203.0.113.7, {remote: 203.0.113.8, direction: in}, {remote: 203.0.113.9, direction: out}]}\n"
	o.must(o.reloadWith(friends))
	want("with an allowlist", "203.0.113.9", "203.0.114.1", "2001:db8::7")
	if listed := strings.Join(o.listed(), "\n"); strings.Count(listed, "/") != 4 {
		t.Errorf("the bans are %s", listed)
	}
	o.restart(false, friends)
	want("after a restart", "203.0.113.9", "203.0.114.1", "2001:db8::7")
	change(o.RemoveBans, "203.0.113.0/24")
	want("without the narrower ban", "203.0.113.9", "203.0.114.1", "2001:db8::7")
	change(o.RemoveBans, "203.0.112.0/22")
	want("without the wider one, too", "2001:db8::7")
	in, err := o.data.Banned()
	if o.must(err); len(in) != 2 {
		t.Errorf("in the kernel are %v, and not just a ban of IPv6 and who is exempt under it", in)
	}
	o.must(o.reloadWith(text))
	want("without the allowlist", "203.0.113.7", "2001:db8::7", "2001:db8::8")
	in, err = o.data.Banned()
	if o.must(err); len(in) != 2 {
		t.Errorf("in the kernel are %v", in)
	}
	o.must(o.reloadWith(strings.Replace(friends, "203.0.113.7", "203.0.113.0/24", 1)))
	want("within a wide allowlist", "2001:db8::7")
	o.must(o.reloadWith(text + "ignoreip: [\"2001:db8::/32\"]\n"))
	want("with ignoreip", "203.0.113.7")
	change(o.RemoveBans, "203.0.113.7/32", "2001:db8::/64")
	in, err = o.data.Banned()
	if o.must(err); len(in) != 0 {
		t.Errorf("in the kernel are %v", in)
	}
}

// What is exempt under a ban says so, to people and to who asks about a flow.
func TestExemptSaysWhy(t *testing.T) {
	t.Parallel()
	o := newOffended(t, "")
	ban := api.BanRequest{Prefixes: []netip.Prefix{netip.MustParsePrefix("203.0.113.0/24"), netip.MustParsePrefix("203.0.113.7/32")}}
	o.must(o.namespace.Do(func() error { _, err := o.AddBans(ban); return err }))
	o.must(o.reloadWith(text + "sets: [{name: friends, addresses: [203.0.113.7]}]\nprotection: {allowlist: [{set: friends}]}\n"))
	bans, err := o.Bans()
	o.must(err)
	for _, b := range bans {
		want := "the allowlist has it: set friends"
		if !b.Prefix.IsSingleIP() {
			want = "in part: " + want
		}
		if b.Exempt != want {
			t.Errorf("%s: %q, want %q", b.Prefix, b.Exempt, want)
		}
	}
	for a, want := range map[string]string{
		"203.0.113.7": "203.0.113.7/32 is banned, and 203.0.113.7 is exempt: the allowlist has it: set friends",
		"203.0.113.8": "203.0.113.0/24 since", "203.0.114.8": "203.0.114.8 is not banned",
	} {
		said := o.bans.WhyNot(netip.MustParseAddr(a))
		if banned, err := dataplane.IsBanned(o.data, netip.MustParseAddr(a)); err != nil {
			t.Fatal(err)
		} else if banned {
			said = o.bans.Why(netip.MustParseAddr(a))
		}
		if !strings.HasPrefix(said, want) {
			t.Errorf("%s: %s, want %s", a, said, want)
		}
	}
}

// Bans are longer by the narrowest region that is listed, of IPv4 and IPv6, and a table
// that does not know the regions is refused.
func TestBansGrowByRegion(t *testing.T) {
	t.Parallel()
	both, countries := geoTable(t, finland, carrier), geoTable(t, finland, "")
	at := func(table, regions string) string {
		return "protection: {geo_table: " + table + "}\nbans: {regions: [" + regions + "]}\n"
	}
	const all = "{region: continent:EU, factor: 2}, {region: country:FI, factor: 3}, {region: asn:64500, factor: 5}"
	for _, c := range []struct{ more, want string }{
		{at(both, all), ""},
		{at(countries, all), "bans.regions: " + countries + " has no ASNs, so that asn:64500 says nothing"},
		{at(both+"x", all), "bans.regions: there is no geo table"},
	} {
		if err := Check(document(t, text+c.more)); (err == nil) != (c.want == "") || err != nil && !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.more, err, c.want)
		}
	}
	for _, c := range []struct {
		regions, address string
		want             float64
	}{
		{all, "77.0.0.1", 5}, {all, "77.1.0.1", 3}, {all, "203.0.113.7", 1}, {all, "2001:db8::1", 1}, {all, "::ffff:77.1.0.1", 3},
		{"{region: continent:EU, factor: 2}", "77.0.0.1", 2}, {"{region: country:SE, factor: 2}", "77.0.0.1", 1}, {"", "77.0.0.1", 1},
	} {
		config := document(t, text+at(both, c.regions)).Config
		p, err := geo.GeofencesOf(config)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.BanFactor(config.Bans.Regions, netip.MustParseAddr(c.address)); got != c.want {
			t.Errorf("%s by %s: %g, want %g", c.address, c.regions, got, c.want)
		}
	}
}
