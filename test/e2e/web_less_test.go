package e2e

import (
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/lab/netns"
)

// less are Linux hosts and clients whose TCP can less than others': sysctls, and the MTU of their interface.
var less = []struct {
	name  string
	off   map[string]string
	mtu   string
	knows func(api.WebHost) bool // what the gateway has learned of such a host
}{
	{"no timestamps", map[string]string{"tcp_timestamps": "0"}, "1500", func(h api.WebHost) bool { return !h.Timestamps && h.SACK && h.Scale && h.MSS == 1460 }},
	{"no SACK", map[string]string{"tcp_sack": "0"}, "1500", func(h api.WebHost) bool { return h.Timestamps && !h.SACK && h.Scale && h.MSS == 1460 }},
	{"no window scale", map[string]string{"tcp_window_scaling": "0"}, "1500", func(h api.WebHost) bool { return h.Timestamps && h.SACK && !h.Scale && h.MSS == 1460 }},
	{"MSS 536", nil, "576", func(h api.WebHost) bool { return h.Timestamps && h.SACK && h.Scale && h.MSS == 536 }},
	{"nothing", map[string]string{"tcp_timestamps": "0", "tcp_sack": "0", "tcp_window_scaling": "0"}, "576",
		func(h api.WebHost) bool { return !h.Timestamps && !h.SACK && !h.Scale && h.MSS == 536 }},
}

// rough is a wire that loses and turns round.
var rough = weather{takes: 2 * time.Millisecond, lost: 0.005, late: 0.01, lateBy: time.Millisecond, twice: 0.001, seed: 3}

// whole wants transfers of both ways by name to be whole.
func (k *couriers) whole(t *testing.T, from dialer) {
	t.Helper()
	const octets = 1 << 20
	for _, way := range []transferWay{download, upload} {
		done, err := k.transfer(from, webPlace, way, octets, 30*time.Second)
		if err != nil || done.octets != octets {
			t.Errorf("%s: %d of %d octets: %v", way, done.octets, octets, err)
		}
	}
}

// A host whose TCP can less than others' serves whole, once it is known what it can.
func TestWebHostsWithLess(t *testing.T) {
	t.Parallel()
	for _, l := range less {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			r := newRealm(t, netns.Options{Hosts: 1})
			host := r.Hosts()[0]
			r.tuned(host, l.off)
			r.at(host, "ip", "link", "set", "eth0", "mtu", l.mtu)
			client, _ := r.behindWire(1, rough)
			k := new(couriers)
			accepts(t, host, 8080, k.serve)
			d := r.leadsToTransfers()
			if h := d.isAsked(); !l.knows(h) {
				t.Errorf("the host is taken for %+v", h)
			}
			k.whole(t, client)
		})
	}
}

// A client whose TCP can less than its host's.
func TestWebClientsWithLess(t *testing.T) {
	t.Parallel()
	r := newRealm(t, netns.Options{Hosts: 1})
	k := new(couriers)
	accepts(t, r.Hosts()[0], 8080, k.serve)
	clients := make([]netns.Node, len(less))
	for i, l := range less {
		clients[i], _ = r.behindWire(i+1, rough)
		r.tuned(clients[i], l.off)
		r.at(clients[i], "ip", "link", "set", "eth0", "mtu", l.mtu)
	}
	r.leadsToTransfers().isAsked()
	for i, l := range less {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			k.whole(t, clients[i])
		})
	}
}
