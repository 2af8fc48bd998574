package daemon

import (
	"errors"
	"fmt"
	"net/netip"
	"reflect"
	"strings"
	"testing"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/explain"
	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
)

const explained = `  - {name: hostb.foo.example., address: 10.0.0.101, open: all}
outbound: {addresses: [198.18.0.2]}
capacity: 5000
chains:
  - name: web
    match: {service: www.hosta.foo.example.}
    functions:
      - {use: filter, name: friends, allow: [203.0.113.0/24]}
      - {use: jump, name: careful, chain: limits, when: [{from: 203.0.113.64/26}]}
      - {use: filter, name: foes, deny: [203.0.113.9]}
  - name: limits
    match: {direction: in, from: 192.0.2.0/24}
    functions:
      - {use: rate-limit, name: first, new: 2/m, burst: 1m, per: source}
  - name: out
    match: {direction: out}
    functions:
      - {use: filter, name: no-smtp, deny: [{protocol: tcp, port: 25}]}
  - name: forward
    match: {direction: in, to: 198.18.0.2, protocol: tcp, port: 8000}
    functions:
      - {use: jump, name: away, chain: limits, when: [{from: 192.0.2.0/24}]}
      - {use: filter, name: known, deny: [203.0.113.9]}
      - {use: dnat, to: 10.0.0.101, port: 80}
  - {name: whole, match: {direction: in, from: 203.0.113.0/24, to: 198.18.0.3}, functions: [{use: dnat, to: 10.0.0.101}]}
  - {name: lost, match: {direction: in, to: 198.18.0.4}, functions: [{use: dnat, to: 172.16.0.1}]}
`

// newExplained is a rig with chains and one service more.
func newExplained(t *testing.T) *rig {
	t.Helper()
	more := strings.NewReplacer("to: 8080}", "to: 8080}, {name: dns.hosta.foo.example., protocol: udp, port: 53}", "/28]", "/28], reservation_timeout: 1m")
	return newRig(t, more.Replace(text)+explained)
}

// state is all that a look may not change.
func (b *rig) state() []any {
	b.t.Helper()
	var sessions []string
	err := b.data.Sessions(func(s datapath.Session) { sessions = append(sessions, fmt.Sprint(s.String(), s.Generation)) })
	counters, err2 := b.data.Counters()
	usage, err3 := b.data.Usage()
	chains, err4 := b.Chains()
	generation, err5 := b.data.Generation()
	reservations, err6 := b.data.Reservations()
	for _, err := range []error{err, err2, err3, err4, err5, err6} {
		if err != nil {
			b.t.Error(err)
		}
	}
	asked, counted := b.pool.Statistics()
	return []any{sessions, counters, usage, chains, generation, reservations, b.pool.Places(), asked, counted}
}

// explains is what explains the policy in force: to load it takes a second.
func (b *rig) explains() *explain.Explainer {
	if b.explainer == nil || b.explained != b.view.Load() {
		b.forget()
		b.explainer, b.explained = b.newExplainer(), b.view.Load()
	}
	return b.explainer
}

func (b *rig) forget() {
	if b.explainer != nil {
		b.must(b.explainer.Close())
	}
}

// explain asks, and sees to it that nothing has changed.
func (b *rig) explain(r api.ExplainRequest) (x api.Explanation, err error) {
	b.t.Helper()
	before := b.state()
	err = b.namespace.Do(func() (err error) {
		x, err = b.explains().Explain(r)
		return err
	})
	if after := b.state(); !reflect.DeepEqual(before, after) {
		b.t.Errorf("explaining %+v changed\n%+v\nto\n%+v", r, before, after)
	}
	return x, err
}

// said writes an explanation in one line: each step and what it says, and the end.
func said(x api.Explanation) string {
	var words []string
	for _, s := range x.Steps {
		words = append(words, s.Step+" "+s.Says)
	}
	end := "drop"
	if x.Passes {
		end = "pass"
	}
	return strings.Join(append(words, strings.TrimSpace(fmt.Sprint(end, " ", x.Reason, " ", x.Function))), ", ")
}

// What is explained is what then happens to a packet, for every way a flow may go, and
// nothing has changed before.
func TestExplainAgreesWithTheDataPlane(t *testing.T) {
	t.Parallel()
	r := newExplained(t)
	r.routed()
	banned := netip.MustParsePrefix("203.0.113.128/25")
	r.ban(banned)
	address := netip.MustParseAddr
	lent, hosta, hostb, outbound := netip.Addr{}, address("10.0.0.100"), address("10.0.0.101"), address("198.18.0.2")
	at := netip.AddrPortFrom
	if end := r.send(false, packets.NewUDP(at(hostb, 7000), at(address("203.0.113.5"), 53), "")); end.IsDrop() {
		t.Fatal(end)
	}
	// A session by dnat to the same endpoint is none of its mapping's.
	one := address("198.18.0.3")
	if end := r.send(true, packets.NewUDP(at(address("203.0.113.7"), 5000), at(one, 7000), "")); end.IsDrop() {
		t.Fatal(end)
	}
	for _, c := range []struct {
		from, to netip.Addr // to nowhere: to what www is lent just then
		protocol model.Protocol
		port     uint16
		out      bool
		want     string
	}{
		{address("203.0.113.200"), lent, model.TCP, 80, false, "ban drop, drop drop_banned"},
		{address("203.0.113.9"), lent, model.TCP, 80, false,
			"ban continue, binding continue, chain web, web/friends continue, web/careful continue, web/foes drop, drop drop_denied web/foes"},
		{address("192.0.2.9"), lent, model.TCP, 80, false,
			"ban continue, binding continue, chain web, web/friends drop, drop drop_denied web/friends"},
		{address("203.0.113.70"), lent, model.TCP, 80, false,
			"ban continue, binding continue, chain web, web/friends continue, web/careful jump, limits/first continue, claim continue, pass"},
		{address("203.0.113.71"), lent, model.TCP, 80, false,
			"ban continue, binding continue, chain web, web/friends continue, web/careful jump, limits/first continue, claim continue, pass"},
		{address("203.0.113.72"), lent, model.TCP, 81, false, "ban continue, binding drop, drop drop_no_binding"},
		{hosta, lent, model.TCP, 80, false, "ban continue, address drop, drop drop_spoofed_source"},
		{address("127.0.0.1"), lent, model.TCP, 80, false, "address drop, drop drop_bad_address"},
		{address("203.0.113.5"), outbound, model.UDP, 7000, false,
			"mapping continue, session open, ban continue, filtering continue, chain none, pass"},
		{address("203.0.113.6"), outbound, model.UDP, 7000, false,
			"mapping continue, ban continue, filtering drop, drop drop_filtered"},
		{address("203.0.113.7"), outbound, model.UDP, 7000, false,
			"mapping continue, ban continue, filtering drop, drop drop_filtered"},
		{address("203.0.113.6"), outbound, model.UDP, 7001, false, "ban continue, mapping drop, drop drop_no_mapping"},
		{address("203.0.113.6"), address("198.18.0.99"), model.UDP, 53, false, "address drop, drop drop_not_for_us"},
		{address("203.0.113.6"), address("198.18.0.1"), model.UDP, 53, false, "ban continue, address gateway, question continue, pass to_gateway"},
		{address("203.0.113.200"), address("198.18.0.1"), model.UDP, 53, false, "ban drop, drop drop_banned"},

		{address("203.0.113.5"), outbound, model.TCP, 8000, false,
			"ban continue, chain forward, forward/away continue, forward/known continue, forward/dnat continue, dnat translate, pass"},
		{address("203.0.113.5"), outbound, model.TCP, 8000, false,
			"session open, ban continue, chain forward, forward/away continue, forward/known continue, forward/dnat continue, dnat translate, pass"},
		{address("203.0.113.9"), outbound, model.TCP, 8000, false,
			"ban continue, chain forward, forward/away continue, forward/known drop, drop drop_denied forward/known"},
		{address("192.0.2.9"), outbound, model.TCP, 8000, false,
			"ban continue, chain forward, forward/away jump, limits/first continue, dnat continue, mapping drop, drop drop_no_mapping"},
		{address("203.0.113.5"), outbound, model.UDP, 8000, false, "ban continue, mapping drop, drop drop_no_mapping"},
		{address("203.0.113.200"), outbound, model.TCP, 8000, false, "mapping drop, drop drop_no_mapping"},
		{hosta, outbound, model.TCP, 8000, false,
			"ban continue, chain forward, forward/away continue, forward/known continue, forward/dnat continue, dnat translate, address drop, drop drop_spoofed_source"},
		{address("203.0.113.5"), one, model.UDP, 53, false, "ban continue, chain whole, whole/dnat continue, dnat translate, pass"},
		{address("203.0.113.5"), one, model.ICMP, 0, false, "ban continue, chain whole, whole/dnat continue, dnat translate, pass"},
		{address("203.0.113.200"), one, model.UDP, 53, false, "ban drop, drop drop_banned"},
		{address("192.0.2.9"), one, model.UDP, 53, false, "ban continue, dnat drop, drop drop_no_binding"},
		{address("203.0.113.5"), address("198.18.0.4"), model.UDP, 53, false,
			"ban continue, chain lost, lost/dnat continue, dnat translate, route drop, drop drop_no_route"},

		{hosta, address("203.0.113.5"), model.TCP, 25, true, "ban continue, chain out, out/no-smtp drop, drop drop_denied out/no-smtp"},
		{hosta, address("203.0.113.5"), model.TCP, 26, true, "ban continue, chain out, out/no-smtp continue, nat translate, pass"},
		{hosta, address("203.0.113.5"), model.ICMP, 0, true, "ban continue, chain out, out/no-smtp continue, nat translate, pass"},
		{hosta, address("203.0.113.200"), model.TCP, 26, true, "ban drop, drop drop_banned"},
		{hosta, hostb, model.TCP, 25, true, "route inside, pass inside_to_inside"},
		{hosta, address("10.0.0.1"), model.UDP, 53, true, "address gateway, pass to_gateway"},
		{hosta, address("224.0.1.1"), model.UDP, 53, true, "address drop, drop drop_multicast"},
		{outbound, address("203.0.113.5"), model.UDP, 53, true, "address drop, drop drop_spoofed_source"},
		{hosta, outbound, model.UDP, 7000, true,
			"ban continue, chain out, out/no-smtp continue, hairpin continue, mapping continue, filtering drop, drop drop_filtered"},
		{hosta, outbound, model.TCP, 8000, true,
			"ban continue, chain out, out/no-smtp continue, hairpin continue, " +
				"chain forward, forward/away continue, forward/known continue, forward/dnat continue, dnat translate, pass"},
		{hosta, one, model.UDP, 53, true, "ban continue, chain out, out/no-smtp continue, hairpin continue, dnat drop, drop drop_no_binding"},
		{one, address("203.0.113.5"), model.UDP, 53, true, "address drop, drop drop_spoofed_source"},
		{one, address("10.0.0.1"), model.UDP, 53, true, "address drop, drop drop_spoofed_source"},
		{address("203.0.113.9"), address("203.0.113.5"), model.UDP, 53, true, "address drop, drop drop_spoofed_source"},
		{address("203.0.113.9"), address("10.0.0.1"), model.UDP, 53, true, "address drop, drop drop_spoofed_source"},
		{address("203.0.113.9"), hostb, model.UDP, 53, true, "address drop, drop drop_spoofed_source"},
		{hosta, lent, model.TCP, 80, true,
			"ban continue, chain out, out/no-smtp continue, hairpin continue, binding continue, chain web, web/friends drop, drop drop_denied web/friends"},
	} {
		direction := model.In
		if c.out {
			direction = model.Out
		}
		if c.to == lent {
			c.to = r.mustAsk(www)
		}
		r.agrees(explain.Flow{Direction: direction, Protocol: c.protocol, Source: c.from, Destination: c.to, Port: c.port}, c.want)
	}
}

// agrees wants an explanation, and then the flow to end as it says.
func (b *rig) agrees(f explain.Flow, want string) {
	b.t.Helper()
	x, err := b.explain(api.ExplainRequest{Address: f.Source, ToAddress: f.Destination, Protocol: f.Protocol, Port: f.Port, Direction: f.Direction})
	if err != nil || said(x) != want {
		b.t.Errorf("%s to %s: %v\n got %s\nwant %s", f.Source, f.Destination, err, said(x), want)
	}
	b.must(b.namespace.Do(func() error { _, _, err := b.explains().First(&f); return err }))
	end := b.send(f.Direction == model.In, f.Packet())
	if (end.IsDrop() || end == "answered_honeypot") == x.Passes || !x.Passes && end != x.Reason || x.Passes && x.Reason != "" && end != x.Reason {
		b.t.Errorf("%s to %s: explained %s, and then it ended with %s", f.Source, f.Destination, said(x), end)
	}
}

// On addresses that the gateway has itself dnat comes before its sockets, and what it
// does not send on is the gateway's.
func TestExplainDnatOnOwnAddresses(t *testing.T) {
	t.Parallel()
	r := newRig(t, text+`chains:
  - {name: forward, match: {direction: in, to: 198.18.0.1, protocol: tcp, port: 8000}, functions: [{use: dnat, to: 10.0.0.101}]}
  - {name: whole, match: {direction: in, to: 198.18.0.3, protocol: tcp}, functions: [{use: dnat, to: 10.0.0.102}]}
`)
	if err := r.namespace.Address("eth0", "198.18.0.3/32"); err != nil {
		t.Fatal(err)
	}
	if err := r.namespace.Route("default", "198.18.0.254"); err != nil {
		t.Fatal(err)
	}
	if err := r.namespace.Do(func() error { return errors.Join(r.readLocalAddresses(), r.data.Refresh()) }); err != nil {
		t.Fatal(err)
	}
	foreign, hosta := netip.MustParseAddr("203.0.113.5"), netip.MustParseAddr("10.0.0.100")
	first, second := netip.MustParseAddr("198.18.0.1"), netip.MustParseAddr("198.18.0.3")
	hairpin := "ban continue, chain none, hairpin continue, "
	for _, c := range []struct {
		direction model.Direction
		from, to  netip.Addr
		protocol  model.Protocol
		want      string
	}{
		{model.In, foreign, first, model.TCP, "ban continue, chain forward, forward/dnat continue, dnat translate, pass"},
		{model.In, foreign, first, model.UDP, "ban continue, address gateway, pass to_gateway"},
		{model.In, foreign, second, model.TCP, "ban continue, chain whole, whole/dnat continue, dnat translate, pass"},
		{model.In, foreign, second, model.UDP, "ban continue, address gateway, pass to_gateway"},
		{model.Out, hosta, first, model.TCP, hairpin + "chain forward, forward/dnat continue, dnat translate, pass"},
		{model.Out, hosta, first, model.UDP, "address gateway, pass to_gateway"},
		{model.Out, hosta, second, model.TCP, hairpin + "chain whole, whole/dnat continue, dnat translate, pass"},
		{model.Out, hosta, second, model.UDP, hairpin + "dnat drop, drop drop_no_binding"},
	} {
		r.agrees(explain.Flow{Direction: c.direction, Protocol: c.protocol, Source: c.from, Destination: c.to, Port: 8000}, c.want)
	}
}

// What filtering refuses is shown to no function, so that none is explained.
func TestExplainAsksFilteringFirst(t *testing.T) {
	t.Parallel()
	r := newRig(t, text+`  - {name: hostb.foo.example., address: 10.0.0.101}
outbound: {addresses: [198.18.0.2], filtering: address-dependent}
chains:
  - {name: foreign, match: {direction: in}, functions: [{use: filter, name: foes, deny: [203.0.113.0/24]}]}
`)
	r.routed()
	address := netip.MustParseAddr
	hostb, outbound := address("10.0.0.101"), address("198.18.0.2")
	if end := r.send(false, packets.NewUDP(netip.AddrPortFrom(hostb, 7000), netip.MustParseAddrPort("192.0.2.5:53"), "")); end.IsDrop() {
		t.Fatal(end)
	}
	for from, want := range map[string]string{
		"203.0.113.7": "mapping continue, ban continue, filtering drop, drop drop_filtered",
		"192.0.2.5":   "mapping continue, session open, ban continue, filtering continue, chain foreign, foreign/foes continue, pass",
	} {
		r.agrees(explain.Flow{Direction: model.In, Protocol: model.UDP, Source: address(from), Destination: outbound, Port: 7000}, want)
	}
}
