package e2e

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"testing"
	"time"
)

// A site that knows the addresses inside, as behind a VPN: every program works with it untranslated, as with
// the kernel's own NAT that leaves it out.
func TestDestinationsWithoutNAT(t *testing.T) {
	t.Parallel()
	options := defaultOffloads
	options.Hosts, options.Clients, options.Servers = 1, 1, 2
	r := newRealm(t, options)
	w := &works{realm: r, host: r.Hosts()[0], client: r.Clients[0], server: r.Servers[0], known: newPeers(t), public: "eth0", private: "eth1"}
	r.must(r.Router.Route("10.0.0.0/16", r.Gateway.PublicAddress.String()))
	webServer(t, r.Servers[1], 8080, "elsewhere")
	w.serve()
	kept := "outbound: {addresses: [198.18.0.2], except: [" + w.server.IP.String() + "]}"
	d := r.start(with(r.configuration(), kept))
	w.outbound, w.published = w.host.IP, func() (netip.Addr, error) { return lent(w.client, r.Gateway, "www."+hostName(0)) }
	w.tryAll("Realmgate")
	if _, err := curl(w.host, r.Servers[1].IP, 8080); err != nil {
		t.Error(err)
	}
	seen := map[string]bool{}
	for _, s := range d.sessions() {
		if to := s.Remote.Addr(); to == w.server.IP || to == r.Servers[1].IP {
			seen[fmt.Sprint(s.Origin, " to ", to, ": ", s.External.Addr())] = true
		}
	}
	want := map[string]bool{"own to " + w.server.IP.String() + ": " + w.host.IP.String(): true, "inside to " + r.Servers[1].IP.String() + ": 198.18.0.2": true}
	if !maps.Equal(seen, want) {
		t.Errorf("sessions are %v", seen)
	}
	// Nobody there may begin.
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if connection, err := w.server.DialContext(ctx, "tcp4", fmt.Sprintf("%s:8080", w.host.IP)); err == nil {
		_ = connection.Close()
		t.Error("the site opened a connection to a host inside")
	}
	if d.counted("drop_not_for_us") == 0 {
		t.Error("what the site began was not dropped as not for us")
	}

	// A reload takes it back.
	d.write(with(r.configuration(), "outbound: {addresses: [198.18.0.2]}"))
	if text, err := d.tell("reload"); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	w.outbound = r.Gateway.Outbound
	if err := curlOut(t.Context(), w, func() {}); err != nil {
		t.Error(err)
	}
	d.stop()

	w.outbound = w.host.IP
	w.masqueradeBut(w.server.IP)
	w.tryAll("the kernel's NAT")
}

// masqueradeBut is masquerade, which leaves a destination out.
func (w *works) masqueradeBut(to netip.Addr) {
	w.t.Helper()
	outbound := w.outbound
	w.masquerade()
	w.command("gateway", "nft", "insert", "rule", "ip", "nat", "out", "ip", "daddr", to.String(), "accept")
	w.outbound = outbound
}
