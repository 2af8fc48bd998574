package daemon

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/explain"
	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/ruleset"
)

// reason is what a configuration says of REMOTE, the remote end of a flow.
type reason string

const (
	ignoreIP  reason = "ignoreip: [REMOTE]\n"
	allowing  reason = "  allowlist: [REMOTE]\n"
	blocking  reason = "  blocklist: [REMOTE]\n"
	ignoring  reason = "  ignored_ports: {tcp: [23]}\n"
	luring    reason = "  honeypot: {tcp: [23]}\n"
	elsewhere reason = "  monitored_ports: {tcp: [25]}\n"
	fencing   reason = "  geofence: [{deny: [REMOTE], unknown: allow, default: deny, allow: [198.51.100.0/24]}]\n"
	unknown   reason = "  geofence: [{deny: [192.0.2.77], unknown: deny, default: allow}]\n"
	otherwise reason = "  geofence: [{deny: [192.0.2.77], unknown: deny, default: deny}]\n"
	nothing   reason = "  geofence: [{deny: [192.0.2.77], unknown: allow, default: allow}]\n"
)

// asked is a way that a flow goes, and how explain is asked about it.
type asked struct {
	name      string
	public    bool
	remote    netip.Addr
	honeypot  bool // which is for what comes from outside, and nobody else has asked for
	lends     bool // its session opens when the client has proved itself
	requested func(r *rig) api.ExplainRequest
}

// orderText has what all ways need, and reservations that outlast a test; the geo table knows 77.0.0.0/8 and 2a00:1::/32
// to be in Finland.
var orderText = strings.Replace(text, "pool: {", "pool: {reservation_timeout: 1m, ", 1) + `  - {name: hostb.foo.example., address: 10.0.0.101, open: all}
outbound: {addresses: [198.18.0.2], filtering: endpoint-independent}
ipv6: forward
chains:
  - {name: whole, match: {direction: in, to: 198.18.0.3}, functions: [{use: dnat, to: 10.0.0.101}]}
`

func (w asked) text(table string, reasons ...reason) string {
	t, protection := orderText, "protection:\n  geo_table: "+table+"\n"
	for _, r := range reasons {
		line := strings.ReplaceAll(string(r), "REMOTE", `"`+w.remote.String()+`"`)
		if r == ignoreIP {
			t = line + t
		} else {
			protection += line
		}
	}
	return t + protection
}

// TestProtectionRule3_OrderForEveryDirection: of one remote end about which everything is
// said at once, one reason after the other is taken away; who decides are, in this order,
// sanity, never-ban, allowlist, ban, blocklist, ignored port, honeypot, port scope, geofence
// and its default, whichever way the flow goes, and explain says the same.
func TestProtectionRule3_OrderForEveryDirection(t *testing.T) {
	t.Parallel()
	table := geoTable(t, finland, "", "2a00:1::,2a00:1:ffff:ffff:ffff:ffff:ffff:ffff,FI\n")
	v4, v6 := netip.MustParseAddr("77.0.0.7"), netip.MustParseAddr("2a00:1::7")
	host, host6 := netip.MustParseAddr("10.0.0.101"), netip.MustParseAddr("2001:db8:2::5")
	const port = 23
	to := func(public bool, remote, end netip.Addr) asked {
		from, to, direction := remote, end, model.In
		if !public {
			from, to, direction = end, remote, model.Out
		}
		return asked{
			public: public, remote: remote,
			requested: func(*rig) api.ExplainRequest {
				return api.ExplainRequest{Address: from, ToAddress: to, Protocol: model.TCP, Port: port, Direction: direction}
			},
		}
	}
	named := func(w asked, name string, change func(*asked)) asked {
		w.name = name
		change(&w)
		return w
	}
	lends := func(w *asked) {
		w.honeypot, w.lends = true, true
		w.requested = func(r *rig) api.ExplainRequest {
			return api.ExplainRequest{Address: v4, ToAddress: r.mustAsk("hostb.foo.example."), Protocol: model.TCP, Port: port, Direction: model.In}
		}
	}
	pot := func(w *asked) { w.honeypot = true }
	for _, w := range []asked{
		named(to(true, v4, netip.Addr{}), "to an address that is lent", lends),
		named(to(true, v4, netip.MustParseAddr("198.18.0.2")), "to a port that a host has opened", func(*asked) {}),
		named(to(true, v4, netip.MustParseAddr("198.18.0.3")), "by dnat", pot),
		named(to(true, v4, netip.MustParseAddr("198.18.0.1")), "to the gateway", pot),
		named(to(false, v4, host), "from inside", func(*asked) {}),
		named(to(true, v6, host6), "IPv6 to a host", pot),
		named(to(false, v6, host6), "IPv6 from inside", func(*asked) {}),
		named(to(true, v6, netip.MustParseAddr("2001:db8:1::1")), "IPv6 to the gateway", pot),
	} {
		t.Run(w.name, func(t *testing.T) {
			r := newRig(t, w.text(table, nothing))
			r.ready(t)
			if w.name == "to a port that a host has opened" {
				open := packets.NewTCP(netip.AddrPortFrom(host, port), netip.MustParseAddrPort("192.0.2.9:5000"), packets.SYN, "")
				if end := r.send(false, open); end.IsDrop() {
					t.Fatal(end)
				}
			}
			w.decides(r, table)
		})
	}
}

// ready gives the gateway its addresses and routes of both families.
func (b *rig) ready(t *testing.T) {
	t.Helper()
	for _, err := range []error{
		b.namespace.EnableIPv6(true), b.namespace.Address("eth0", "2001:db8:1::1/64"), b.namespace.Address("eth1", "2001:db8:2::1/64"),
		b.namespace.Route("default", "198.18.0.254"), b.namespace.Route("default", "2001:db8:1::254"), b.namespace.Do(b.readLocalAddresses), b.namespace.Do(b.data.Refresh),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// decides goes through the reasons.
func (w asked) decides(r *rig, table string) {
	const (
		denied = "drop_denied protection/"
		hit    = "answered_honeypot protection/honeypot"
	)
	banned := netip.PrefixFrom(w.remote, w.remote.BitLen())
	r.ban(banned)
	for _, s := range []struct {
		reasons []reason
		want    string // passes, or why not and by which function
		unban   bool
		not     bool // this way has not that
		insane  bool
	}{
		{reasons: []reason{ignoreIP, allowing, blocking, luring, fencing}, want: "insane", insane: true},
		{reasons: []reason{ignoreIP, allowing, blocking, luring, fencing}, want: "passes"},
		{reasons: []reason{ignoreIP, blocking, luring, fencing}, want: "passes"},
		{reasons: []reason{allowing, blocking, luring, fencing}, want: "passes"},
		{reasons: []reason{blocking, luring, fencing}, want: "drop_banned"},
		{reasons: []reason{blocking, luring, fencing}, want: denied + ruleset.Blocklist, unban: true},
		{reasons: []reason{ignoring, fencing}, want: "passes"},
		{reasons: []reason{luring, fencing}, want: hit, not: !w.honeypot},
		{reasons: []reason{luring, elsewhere, fencing}, want: hit, not: !w.honeypot},
		{reasons: []reason{elsewhere, fencing}, want: "passes"},
		{reasons: []reason{fencing}, want: denied + ruleset.Geofence},
		{reasons: []reason{unknown}, want: "passes"}, // its country is known
		{reasons: []reason{otherwise}, want: denied + ruleset.Geofence},
		{reasons: []reason{nothing}, want: "passes"},
	} {
		if s.not {
			continue
		}
		if s.unban {
			r.must(r.namespace.Do(func() error {
				_, err := r.RemoveBans(api.BanRequest{Prefixes: []netip.Prefix{banned}})
				return err
			}))
		}
		if err := r.reloadWith(w.text(table, s.reasons...)); err != nil {
			r.t.Fatal(err)
		}
		if s.want == hit || w.lends && s.want == "passes" { // else what is open is judged anew
			if _, err := r.data.EndSessions(func(s datapath.Session) bool { return s.Remote.Addr() == w.remote }); err != nil {
				r.t.Fatal(err)
			}
		}
		w.ends(r, s.want, s.insane, s.reasons)
	}
}

// broken is a packet of a version of IP that there is not.
func broken(p packets.Packet) packets.Packet {
	frame := p.Bytes()
	frame[14] = 5<<4 | frame[14]&15
	return packets.Packet{Ethernet: packets.Ethernet{Type: uint16(frame[12])<<8 | uint16(frame[13])}, Payload: frame[14:]}
}

// ends wants the flow to end so, and explain to say it before.
func (w asked) ends(r *rig, want string, insane bool, reasons []reason) {
	r.t.Helper()
	q := w.requested(r)
	f := explain.Flow{Direction: q.Direction, Protocol: q.Protocol, Source: q.Address, From: somePort, Destination: q.ToAddress, Port: q.Port}
	if insane {
		if end := r.send(w.public, broken(f.Packet())); end != "drop_malformed" {
			r.t.Errorf("what is no IP packet ended with %s", end)
		}
		return
	}
	x, err := r.explain(q)
	if err != nil {
		r.t.Fatal(err)
	}
	got := strings.TrimSpace(string(x.Reason) + " " + x.Function)
	if x.Passes {
		got = "passes"
	}
	if got != want {
		r.t.Errorf("with %q explained is %s, want %s: %s", reasons, got, want, said(x))
	}
	end := r.send(w.public, f.Packet())
	passes := !end.IsDrop() && end != "answered_honeypot"
	if passes && w.lends {
		client := netip.AddrPortFrom(f.Source, somePort)
		r.answers(netip.MustParseAddrPort("10.0.0.101:23"), client)
		if proved := r.proves(client, netip.AddrPortFrom(f.Destination, f.Port)); proved.IsDrop() {
			r.t.Errorf("with %q the client's proof ended with %s", reasons, proved)
		}
	}
	if reason, _, _ := strings.Cut(want, " "); passes != (want == "passes") || !passes && string(end) != reason {
		r.t.Errorf("with %q the flow ended with %s, want %s", reasons, end, want)
	}
}
