package diagnose

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/realmgate/realmgate/test/lab"
)

// What is asked for is in a network of a public interface, nobody's as far as is known,
// and bounded.
func TestTargets(t *testing.T) {
	t.Parallel()
	s, f := sound()
	s.Pool = addresses("198.18.0.32", "198.18.0.254", "198.18.0.255", "198.18.0.1", "203.0.113.9", "10.0.0.200")
	f.InUse = map[netip.Addr]Neighbour{s.Pool[0]: {"eth0", "02:00:00:00:00:99"}} // it is asked for again
	got := targetsOf(s, f, mostProbed)
	if want := addresses("198.18.0.32", "198.18.0.2", "198.18.0.7", "198.18.0.80"); len(got) != 1 || got[0].Name != "eth0" || !slices.Equal(got[0].addresses, want) {
		t.Errorf("%v", got)
	}
	if got := targetsOf(s, f, 1); len(got) != 1 || len(got[0].addresses) != 1 {
		t.Errorf("%v", got)
	}
	f.Interfaces[0].Carrier = false
	if got := targetsOf(s, f, mostProbed); len(got) > 0 {
		t.Errorf("%v", got)
	}
}

// A neighbour with an address of the pool is found, and found to have gone. An answer by an
// interface of our own does not count.
func TestNeighbours(t *testing.T) {
	l := lab.New(t, "diagnose")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	gateway, err := l.Namespace("gateway")
	must(err)
	link, err := l.Namespace("link")
	must(err)
	must(link.Bridge("public"))
	for i, name := range []string{"eth0", "eth1"} {
		must(l.Veth(gateway, name, link, name))
		must(gateway.Address(name, fmt.Sprintf("198.18.0.%d/24", 1+i)))
		must(gateway.Up(name))
		must(link.Join("public", name))
	}
	must(link.Address("public", "198.18.0.33/24"))
	must(gateway.WaitUp())
	entries := func() string {
		out, err := gateway.Command(t.Context(), "ip", "neigh", "show", "dev", "eth0").Output()
		must(err)
		return string(out)
	}
	const static = "198.18.0.34 lladdr 02:00:00:00:00:22 PERMANENT"
	must(gateway.Command(t.Context(), "ip", "neigh", "add", "198.18.0.34", "lladdr", "02:00:00:00:00:22", "nud", "permanent", "dev", "eth0").Run())
	s := &Setup{Public: []string{"eth0"}, Private: []string{"eth1"}, Pool: addresses("198.18.0.2", "198.18.0.32", "198.18.0.33", "198.18.0.34")}
	var n Neighbours
	defer n.Close()
	now, anew := time.Now(), true
	follow := func() []netip.Addr {
		var used map[netip.Addr]Neighbour
		must(gateway.Do(func() error {
			f, err := Collect(s, nil)
			if err == nil {
				delete(f.Own, s.Pool[0]) // as if the data plane answered for it on eth1
				used, err = n.Follow(s, f, anew, now)
			}
			return err
		}))
		anew = false
		var list []netip.Addr
		for a := range used {
			list = append(list, a)
		}
		return list
	}
	eventually := func(what string, want ...netip.Addr) {
		t.Helper()
		var got []netip.Addr
		for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
			if got = follow(); slices.Equal(got, want) {
				return
			}
		}
		t.Fatalf("%s: %v", what, got)
	}
	eventually("a neighbour has an address", s.Pool[2])
	n.asking.Wait()
	if got := follow(); !slices.Equal(got, s.Pool[2:3]) {
		t.Fatalf("at the end %v are in use", got)
	}
	must(link.Down("public"))
	now = now.Add(2 * againEvery)
	eventually("the neighbour has gone")
	n.asking.Wait()
	if left := strings.TrimSpace(entries()); left != static {
		t.Errorf("the kernel knows of neighbours: %s", left)
	}
}
