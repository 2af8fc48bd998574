package daemon

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/realmgate/realmgate/internal/names/server"
	"github.com/realmgate/realmgate/internal/nameserver"
	"github.com/realmgate/realmgate/internal/plane"
)

// manyServices lists n of them, with some ports each, for a host of their own.
func manyServices(n, ports int) string {
	var list strings.Builder
	list.WriteString("  - name: hostb.foo.example.\n    address: 10.0.0.101\n    services:\n")
	for i := range n {
		first := 1000 + i*ports
		fmt.Fprintf(&list, "      - {name: s%d.hostb.foo.example., ports: [udp/%d-%d]}\n", i, first, first+ports-1)
	}
	return list.String()
}

// A reload that is refused, early or late, changes nothing.
func TestRefusedReloadChangesNothing(t *testing.T) {
	t.Parallel()
	big := strings.Replace(text, "198.18.0.32/28", "198.20.0.0/18", 1)
	crowded := strings.Replace(text, "198.18.0.32/28", "198.21.0.0/28", 1) + manyServices(10, 500)
	for _, c := range []struct {
		name, file, complaint string
		late                  bool // found out only by the data plane
	}{
		{"pool", big, "pool.addresses: 16385 pool, outbound, dnat, one-to-one and web addresses", false},
		{"services", crowded, "services and ports of dnat, old and new ones", false},
		{"ports", crowded, "5002 ports, old and new ones, but the table of bound ports", false},
		{"bindings", text + manyServices(300, 1), "302 services, old and new ones, but the table of bindings", false},
		{"pool, late", big, "rolled back", true},
		{"services, late", crowded, "rolled back", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, text)
			address := r.mustAsk(www)
			if c.late {
				r.plane.Sizes = plane.Sizes{Addresses: 1 << 20, Services: 1 << 20, Bindings: 1 << 20, Ports: 1 << 20, Slots: 64}
			}
			if err := r.reloadWith(c.file); err == nil || !strings.Contains(err.Error(), c.complaint) {
				t.Fatalf("the reload ended with %v", err)
			}
			if again := r.mustAsk(www); again != address {
				t.Errorf("the name had %s, now it has %s", address, again)
			}
			if got, err := r.data.Withdraw(r.standing().ID); err != nil || got.Left != 2 {
				t.Errorf("the data plane has %+v of the standing reservation: %v", got, err)
			}
			if s, _ := r.pool.Statistics(); s.Addresses != 16 || s.Cancelled != 0 || s.Services != 1 || s.Withdrawn != 0 {
				t.Errorf("%+v", s)
			}
			generation, err := r.data.Generation()
			if err != nil || generation != r.view.Load().generation {
				t.Errorf("generation %d is in force, %d is told: %v", generation, r.view.Load().generation, err)
			}
			if generation != 1 {
				t.Errorf("generation %d, though nothing was switched", generation)
			}
			if _, found := r.view.Load().realm.Find("s1.hostb.foo.example."); found {
				t.Error("a name of the refused file is known")
			}
		})
	}
}

// A pool address that the machine has itself is never lent (I3), from the moment that it has it: who had it gets
// another, or none, and is not told of it by what was answered before.
func TestOwnAddressesAreNotLent(t *testing.T) {
	t.Parallel()
	const other = "www.hostb.foo.example."
	r := newRig(t, strings.Replace(text, "[198.18.0.32/28]", "[198.18.0.40-198.18.0.41], wait: 0s", 1)+otherHost("b", 101))
	r.routed()
	lost := r.mustAsk(www)
	kept := r.mustAsk(other)
	r.must(r.namespace.Address("eth0", lost.String()+"/24"))
	r.must(r.namespace.Do(r.readLocalAddresses))
	r.says(lost.String() + " of the pool stands on an interface (1 such) and is not lent")
	if address, err := r.ask(www); !errors.Is(err, nameserver.ErrExhausted) {
		t.Errorf("%s, %v, though %s is on eth0", address, err, lost)
	}
	if address := r.mustAsk(other); address != kept {
		t.Errorf("the other has %s, before %s", address, kept)
	}
	if _, found, err := r.boundTo(lost, 80); err != nil || found {
		t.Errorf("a service has port 80 of %s still: %v", lost, err)
	}
	// A start knows it before it gives anything away.
	r.restart(false, "")
	if address := r.mustAsk(other); address != kept {
		t.Errorf("after a restart the other has %s, before %s", address, kept)
	}
	if address, err := r.ask(www); !errors.Is(err, nameserver.ErrExhausted) {
		t.Errorf("after a restart %s, %v, though %s is on eth0", address, err, lost)
	}
}

// While a reload brings a new zone, its hosts are refused, then known, and never
// denied: resolvers would remember that.
func TestReloadNeverDeniesANewName(t *testing.T) {
	t.Parallel()
	r := newRig(t, text)
	var sockets *server.Sockets
	r.must(r.namespace.Do(func() (err error) { sockets, err = server.Listen(r.view.Load().config); return err }))
	defer sockets.Close()
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = r.names.ServePublic(ctx, sockets) })
	defer running.Wait()
	defer cancel()
	seen := map[int]int{}
	done := make(chan error)
	more := strings.Replace(text, "zones: [foo.example.]", "zones: [foo.example., bar.example.]", 1) + manyServices(200, 20) +
		"  - {name: hostc.bar.example., address: 10.0.0.102, open: all}\n"
	go func() { done <- r.reloadWith(more) }()
	question := new(dns.Msg).SetQuestion("hostc.bar.example.", dns.TypeA)
	for end := (<-chan time.Time)(nil); ; {
		var reply *dns.Msg
		r.must(r.namespace.Do(func() (err error) { reply, err = dns.Exchange(question, "198.18.0.1:53"); return err }))
		seen[reply.Rcode]++
		select {
		case err := <-done:
			if err != nil {
				t.Fatal(err)
			}
			end = time.After(50 * time.Millisecond)
			continue
		case <-end:
		default:
			continue
		}
		break
	}
	if seen[dns.RcodeNameError] > 0 || seen[dns.RcodeRefused] == 0 || seen[dns.RcodeSuccess] == 0 {
		t.Errorf("answers by code: %v", seen)
	}
}
