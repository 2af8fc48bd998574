package gateway

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/pool"
)

// manyServices lists n of them, for a host of their own.
func manyServices(n int) string {
	var list strings.Builder
	list.WriteString("  - name: hostb.foo.example.\n    address: 10.0.0.101\n    services:\n")
	for i := range n {
		fmt.Fprintf(&list, "      - {name: s%d.hostb.foo.example., protocol: udp, port: %d}\n", i, 1000+i)
	}
	return list.String()
}

// A reload that is refused, early or late, changes nothing.
func TestRefusedReloadChangesNothing(t *testing.T) {
	big := strings.Replace(text, "198.18.0.32/28", "198.20.0.0/18", 1)
	crowded := strings.Replace(text, "198.18.0.32/28", "198.21.0.0/28", 1) + manyServices(5000)
	for _, c := range []struct {
		name, file, complaint string
		late                  bool // found out only by the data plane
	}{
		{"pool", big, "pool.addresses: 16385 pool, outbound and static addresses", false},
		{"services", crowded, "services and ports of dnat, old and new ones", false},
		{"pool, late", big, "rolled back", true},
		{"services, late", crowded, "rolled back", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, text)
			address := r.mustAsk(www)
			if c.late {
				r.room = room{1 << 20, 1 << 20}
			}
			if err := r.reloadWith(c.file); err == nil || !strings.Contains(err.Error(), c.complaint) {
				t.Fatalf("the reload ended with %v", err)
			}
			if again := r.mustAsk(www); again != address {
				t.Errorf("the standing offer was %s, now %s is lent", address, again)
			}
			if got, err := r.data.Withdraw(r.standing().ID); err != nil || got.Left != 2 {
				t.Errorf("the data plane has %+v of the standing offer: %v", got, err)
			}
			if s := r.pool.Statistics(); s.Addresses != 16 || s.Cancelled != 0 {
				t.Errorf("%+v", s)
			}
			generation, err := r.data.Generation()
			if err != nil || generation != r.view.Load().generation {
				t.Errorf("generation %d is in force, %d is told: %v", generation, r.view.Load().generation, err)
			}
			if generation != 1 {
				t.Errorf("generation %d, though nothing was switched", generation)
			}
			if _, found := r.directory().Find("s1.hostb.foo.example."); found {
				t.Error("a name of the refused file is known")
			}
			for n := range 8 {
				if got, err := r.lend(datapath.Now(), requestTo(n)); err != nil || !netip.MustParsePrefix("198.18.0.32/28").Contains(got) {
					t.Errorf("%s was lent, %v", got, err)
				}
			}
		})
	}
}

// A pool address that the machine has itself is never lent (I3), from the
// moment that it has it.
func TestOwnAddressesAreNotLent(t *testing.T) {
	r := newRig(t, strings.Replace(text, "198.18.0.32/28", "198.18.0.40-198.18.0.41", 1))
	first, second := netip.MustParseAddr("198.18.0.40"), netip.MustParseAddr("198.18.0.41")
	if err := r.namespace.Address("eth0", first.String()+"/24"); err != nil {
		t.Fatal(err)
	}
	if err := r.namespace.Do(r.lookAtOwn); err != nil {
		t.Fatal(err)
	}
	for n := range 2 {
		address, err := r.lend(datapath.Now(), requestTo(n))
		if n == 0 && address != second || n == 1 && err == nil {
			t.Errorf("offer %d: %s, %v; %s is on eth0", n, address, err, first)
		}
	}
	if list := r.ownInPool(r.view.Load().config); len(list) != 1 || list[0] != first {
		t.Errorf("the warning names %v", list)
	}
}

// While a reload brings a new zone, its hosts are refused, then known, and never
// denied: resolvers would remember that.
func TestReloadNeverDeniesANewName(t *testing.T) {
	r := newRig(t, text)
	socket, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = r.public.Serve(ctx, socket, nil) })
	defer running.Wait()
	defer cancel()
	seen := map[int]int{}
	done := make(chan error)
	more := strings.Replace(text, "zones: [foo.example.]", "zones: [foo.example., bar.example.]", 1) + manyServices(4000) +
		"  - {name: hostc.bar.example., address: 10.0.0.102}\n"
	go func() { done <- r.reloadWith(more) }()
	question := new(dns.Msg).SetQuestion("hostc.bar.example.", dns.TypeA)
	for end := (<-chan time.Time)(nil); ; {
		reply, err := dns.Exchange(question, socket.LocalAddr().String())
		if err != nil {
			t.Fatal(err)
		}
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

// requestTo asks for TCP port 80 of a host that no other number has.
func requestTo(n int) pool.Request {
	host := netip.AddrFrom4([4]byte{10, 0, 1, byte(n)})
	return pool.Request{Name: model.Name(fmt.Sprintf("host%d.", n)), Host: host, Protocol: model.TCP, Port: 80, Requester: remote.Addr()}
}
