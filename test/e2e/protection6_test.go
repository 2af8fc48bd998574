package e2e

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/client"
	"github.com/realmgate/realmgate/internal/lab/netns"
)

// six gives the first host and all clients IPv6 addresses, by which the gateway's kernel
// forwards between them.
func (r *realm) six() (host netns.Node, clients []netns.Node) {
	r.t.Helper()
	check := func(errs ...error) {
		r.t.Helper()
		if err := errors.Join(errs...); err != nil {
			r.t.Fatal(err)
		}
	}
	outside, inside := netip.MustParseAddr("2001:db8:1::1"), netip.MustParseAddr("2001:db8:2::1")
	check(r.Gateway.Address(r.Gateway.Public[0], outside.String()+"/64"), r.Gateway.Address(r.Gateway.Private[0], inside.String()+"/64"),
		r.Gateway.SetSysctl("net/ipv6/conf/all/forwarding", "1"))
	move := func(n netns.Node, to, gateway netip.Addr) netns.Node {
		check(n.Address("eth0", to.String()+"/64"), n.Route("default", gateway.String()))
		n.IP = to
		return n
	}
	host = move(r.Hosts()[0], inside.Next(), inside)
	next := outside
	for _, c := range r.Clients {
		next = next.Next()
		clients = append(clients, move(c, next, outside))
	}
	return host, clients
}

// greeter says hello to whoever connects, and then what came.
func greeter(t *testing.T, at netns.Node) netip.AddrPort {
	t.Helper()
	const port = 8080
	accepts(t, at, port, func(c net.Conn) {
		defer c.Close()
		_, _ = io.WriteString(c, "hello")
		_, _ = io.Copy(c, c)
	})
	return netip.AddrPortFrom(at.IP, port)
}

// greeted connects and waits to be greeted; the caller closes what it returns.
func greeted(from netns.Node, to netip.AddrPort, patience time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	c, err := from.DialContext(ctx, "tcp6", to.String())
	if err != nil {
		return nil, err
	}
	_ = c.SetDeadline(time.Now().Add(patience))
	_, err = io.ReadFull(c, make([]byte, len("hello")))
	return c, err
}

// Who is blocked by IPv6 is cut off both ways, what is open with it; a geofence for flows
// that come in lets the answers of those pass that went out; who is allowed is exempt.
func TestProtectionOfIPv6(t *testing.T) {
	r := newRealm(t, netns.Options{Hosts: 1, Clients: 5, Servers: 1, IPv6: true})
	host, clients := r.six()
	friend, blocked, fenced, exempt, listed := clients[0], clients[1], clients[2], clients[3], clients[4]
	service := greeter(t, host)
	services := map[netns.Node]netip.AddrPort{}
	for _, c := range clients {
		services[c] = greeter(t, c)
	}
	p := publish(t, r.Servers[0])
	p.put("/drop.txt", "198.51.100.7", listed.IP.String())
	d := r.start(with(r.configuration(), "ipv6: forward"))
	for _, c := range clients {
		for _, way := range []struct {
			from netns.Node
			to   netip.AddrPort
		}{{c, service}, {host, services[c]}} {
			talk, err := greeted(way.from, way.to, awaited[true])
			if err != nil {
				t.Fatalf("without protection %s did not reach %s: %v", way.from.IP, way.to, err)
			}
			_ = talk.Close()
		}
	}
	talk, err := greeted(blocked, service, awaited[true])
	if err != nil {
		t.Fatal(err)
	}
	defer talk.Close()

	places(t, filepath.Join(filepath.Dir(d.config), "geo.table"), map[string]string{"77.0.0.1": "FI"})
	d.write(with(r.configuration(), "ipv6: forward") + `
sets: [{name: enemies, addresses: [203.0.113.0/24, ` + blocked.IP.String() + `]}]
lists: [{name: drop, url: "` + p.url + `/drop.txt"}]
protection:
  allowlist: [` + exempt.IP.String() + `]
  blocklist: [{set: enemies}, {list: drop, direction: in}]
  honeypot: {tcp: [23]}
  geo_table: geo.table
  geofence: [{direction: in, unknown: allow, deny: [` + fenced.IP.String() + `, ` + exempt.IP.String() + `]}]
`)
	if out, err := d.tell("reload"); err != nil {
		t.Fatal(out)
	}
	eventually(t, 10*time.Second, "the list is in force", func() bool {
		l := d.lists()["drop"]
		return l.Entries == 2 && l.Error == ""
	})
	_ = talk.SetDeadline(time.Now().Add(2 * time.Second))
	if _, err := talk.Write([]byte("x")); err == nil {
		if _, err = talk.Read(make([]byte, 1)); err == nil {
			t.Error("what was open to who is blocked goes on")
		}
	}
	for what, c := range map[string]struct {
		node    netns.Node
		in, out bool
	}{
		"a friend": {friend, true, true}, "who is blocked": {blocked, false, false}, "who is fenced off": {fenced, false, true},
		"who is exempt": {exempt, true, true}, "who is on a list": {listed, false, true},
	} {
		before := d.counted("drop_denied")
		in, errIn := greeted(c.node, service, awaited[c.in])
		if in != nil {
			_ = in.Close()
		}
		denied := d.counted("drop_denied") > before
		out, errOut := greeted(host, services[c.node], awaited[c.out])
		if out != nil {
			_ = out.Close()
		}
		if (errIn == nil) != c.in || (errOut == nil) != c.out || denied == c.in {
			t.Errorf("%s: in %v, out %v, packets were denied: %v; want in: %v, out: %v", what, errIn, errOut, denied, c.in, c.out)
		}
	}
	for want, flow := range map[string][]string{
		"would be dropped (drop_denied by protection/blocklist)":              {blocked.IP.String()},
		"would be dropped (drop_denied by protection/geofence)":               {fenced.IP.String(), "--to", host.IP.String()},
		"would pass (forwarded_ipv6)":                                         {exempt.IP.String()},
		"port 23 would be dropped (answered_honeypot by protection/honeypot)": {friend.IP.String(), "--protocol", "tcp", "--port", "23"},
		fenced.IP.String() + " would pass (forwarded_ipv6)":                   {host.IP.String(), "--to", fenced.IP.String()},
		"would pass (to_gateway)":                                             {listed.IP.String(), "--to", "2001:db8:1::1", "--direction", "out"},
	} {
		d.explains(want, flow...)
	}
	if out, err := d.tell("explain", listed.IP.String()); err != nil || !strings.Contains(out, listed.IP.String()+" is of list drop") {
		t.Errorf("explain: %v: %s", err, out)
	}
	if talk, err := greeted(friend, netip.AddrPortFrom(host.IP, 23), awaited[false]); err == nil {
		_ = talk.Close()
		t.Error("the honeypot speaks")
	}
	eventually(t, 10*time.Second, "who connects to the honeypot is banned", func() bool {
		bans := list[[]client.Ban](d, "ban", "list")
		return len(bans) == 1 && bans[0].Prefix.Contains(friend.IP)
	})
	f := list[[]client.Chain](d, "chain", "list")[0].Functions
	if len(f) != 5 || f[0].Seen == 0 || f[1].Dropped == 0 || f[3].Seen == 0 || f[4].Dropped == 0 {
		t.Errorf("what the protection did: %+v", f)
	}
}
