package daemon

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/realmgate/realmgate/internal/nameserver"
	"github.com/realmgate/realmgate/internal/pool"
)

// A reload that changes what a name stands for ends what its clients had, though the new service may be at the address
// that they have: nobody is known there, and no old answer lets anybody in.
func TestReloadEndsWhatClientsHad(t *testing.T) {
	t.Parallel()
	one := strings.NewReplacer("pool: {", lasting, "198.18.0.32/28", "198.18.0.32").Replace(text)
	for name, c := range map[string]struct {
		changed string
		port    uint16 // of the service then, 0: none
		open    bool   // the port of the host, so that sessions with it go on
	}{
		"closed":       {changed: one[:strings.Index(one, "    services")]},
		"port":         {changed: strings.Replace(one, "port: 80,", "port: 81,", 1), port: 81, open: true},
		"host's port":  {changed: strings.Replace(one, "to: 8080", "to: 8081", 1), port: 80},
		"host address": {changed: strings.Replace(one, "10.0.0.100", "10.0.0.105", 1), port: 80},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, one)
			r.routed()
			lent := r.mustAsk(www)
			r.admits(remote, lent, 80)
			r.mustAsk(www) // an answer that nobody has used
			r.must(r.reloadWith(c.changed + otherHost("b", 101)))
			if end := r.proves(remote, netip.AddrPortFrom(lent, 80)); end.IsDrop() == c.open {
				t.Errorf("a packet of the session ended with %s", end)
			}
			if c.port == 80 {
				r.refuses(visitor(1, 4000), lent, 80, "drop_no_reservation")
			} else {
				r.refuses(visitor(1, 4000), lent, 80, "drop_no_binding")
			}
			if address, err := r.ask(wwwB); !errors.Is(err, nameserver.ErrExhausted) {
				t.Errorf("another host has %s, %v", address, err)
			}
			resting := 0
			for _, p := range r.pool.Places() {
				if p.State == pool.Resting && p.Service.Owner == "hosta.foo.example." && p.Address == lent {
					resting++
				}
			}
			if resting != 1 {
				t.Errorf("of what it had %d rest: %+v", resting, r.pool.Places())
			}
			if c.port > 0 {
				if again := r.mustAsk(www); again != lent {
					t.Errorf("it had %s, and has %s", lent, again)
				}
				r.admits(visitor(2, 4000), lent, c.port)
			}
			r.must(r.reloadWith(one))
			if again := r.mustAsk(www); again != lent {
				t.Errorf("with the first file it had %s, and has %s", lent, again)
			}
			r.admits(visitor(3, 4000), lent, 80)
		})
	}
}

// Ports that a reload adds or takes away leave a binding and its other ports as they are.
func TestReloadChangesThePortsOfABinding(t *testing.T) {
	t.Parallel()
	ports := func(list string) string {
		return strings.NewReplacer("pool: {", "pool: {reservation_timeout: 1m, ", "protocol: tcp, port: 80, to: 8080", "ports: ["+list+"]").Replace(text)
	}
	r := newRig(t, ports("tcp/80:8080, tcp/22"))
	r.routed()
	lent := r.mustAsk(www)
	before, _ := r.place(www)
	r.admits(remote, lent, 80)
	r.admits(netip.AddrPortFrom(remote.Addr(), 4001), lent, 22)
	r.must(r.reloadWith(ports("tcp/80:8080, tcp/443")))
	if after, _ := r.place(www); after.ID != before.ID || after.Address != lent {
		t.Errorf("before %+v, then %+v", before, after)
	}
	if end := r.proves(remote, netip.AddrPortFrom(lent, 80)); end.IsDrop() {
		t.Errorf("the session of a port that stays ends with %s", end)
	}
	if end := r.proves(netip.AddrPortFrom(remote.Addr(), 4001), netip.AddrPortFrom(lent, 22)); !end.IsDrop() {
		t.Errorf("the session of the port that is gone goes on: %s", end)
	}
	r.admits(netip.AddrPortFrom(remote.Addr(), 4002), lent, 443) // who is known
	r.refuses(netip.AddrPortFrom(remote.Addr(), 4003), lent, 22, "drop_no_binding")
}

// An address that a reload takes out of the pool is nobody's, and rests: when it is back, it is its last host's alone.
func TestReloadTakesAnAddressAway(t *testing.T) {
	t.Parallel()
	one := strings.NewReplacer("pool: {", lasting, "198.18.0.32/28", "198.18.0.32").Replace(text)
	elsewhere := strings.Replace(one, "198.18.0.32", "198.18.0.77", 1)
	r := newRig(t, one)
	r.routed()
	gone := r.mustAsk(www)
	r.admits(remote, gone, 80)
	r.must(r.reloadWith(elsewhere))
	if address := r.mustAsk(www); address == gone {
		t.Errorf("%s is in no pool", address)
	}
	if _, found, err := r.boundTo(gone, 80); found || err != nil {
		t.Errorf("a service has port 80 of %s still: %v", gone, err)
	}
	both := strings.Replace(elsewhere, "198.18.0.77", "198.18.0.77, 198.18.0.32", 1) + otherHost("b", 101)
	r.must(r.reloadWith(both))
	if address, err := r.ask(wwwB); !errors.Is(err, nameserver.ErrExhausted) {
		t.Errorf("%s, %v: it was another host's", address, err)
	}
	r.must(r.reloadWith(one))
	if again := r.mustAsk(www); again != gone {
		t.Errorf("it had %s, and has %s", gone, again)
	}
}
