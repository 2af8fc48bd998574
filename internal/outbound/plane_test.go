package outbound

import (
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"testing"

	"github.com/realmgate/realmgate/internal/config"
	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/events/event"
)

// recorder is a data plane that notes what is asked of it, in order.
type recorder struct {
	Plane
	calls    []string
	sessions []datapath.Session
}

func (r *recorder) MostOutbound() int { return 3 }

func (r *recorder) SetOutbound(addresses []netip.Addr) (datapath.OutboundChange, error) {
	r.calls = append(r.calls, fmt.Sprint("outbound ", addresses))
	return datapath.OutboundChange{Left: []netip.Addr{first}, Ended: 2}, nil
}

func (r *recorder) SetAddresses(pool, dnat []netip.Addr, own ...netip.Addr) error {
	r.calls = append(r.calls, fmt.Sprint("pool ", pool, " dnat ", dnat, " own ", own))
	return nil
}

func (r *recorder) EndSessions(wanted func(datapath.Session) bool) (n int, err error) {
	for _, s := range r.sessions {
		if wanted(s) {
			n++
		}
	}
	return n, nil
}

func (r *recorder) Emit(e event.Event) { r.calls = append(r.calls, fmt.Sprintf("%s %+v", e.Kind(), e)) }

var (
	first, second, lent, dnat, own = address("198.18.0.1"), address("198.18.0.2"), address("198.18.0.32"), address("198.18.0.7"), address("198.18.0.9")
)

func address(text string) netip.Addr { return netip.MustParseAddr(text) }

func configured(pool ...netip.Addr) *config.Config {
	c := new(config.Config)
	c.Outbound.Addresses, c.Pool.Addresses = []netip.Addr{second}, pool
	c.Hosts = slices.Grow(c.Hosts, 1)[:1]
	c.Hosts[0].OneToOne = own
	return c
}

// An address that its interface has no more leaves the pool before it is outbound no more, and the sessions of names there
// end; what the file has in the pool stays, and what is a host's alone.
func TestAddressLeavesThePoolFirst(t *testing.T) {
	t.Parallel()
	session := func(origin string, at netip.Addr) datapath.Session {
		return datapath.Session{Origin: origin, External: netip.AddrPortFrom(at, 80)}
	}
	r := &recorder{sessions: []datapath.Session{session("pool", first), session("pool", lent), session("mapping", first)}}
	file, now := configured(lent), configured(lent, first)
	k := New(Options{
		InForce: func() InForce { return InForce{Config: now, File: file, Dnat: []netip.Addr{dnat}} },
		Events:  r, Log: slog.New(slog.DiscardHandler),
	})
	if err := k.Open(r, now, []netip.Addr{second, first}).Commit(); err != nil {
		t.Fatal(err)
	}
	k.Prepare(now, []netip.Addr{second}).Settle()
	if want := []string{
		"outbound [198.18.0.2 198.18.0.1]", "outbound_changed {Came:[] Left:[198.18.0.1] Ended:2 Addresses:[198.18.0.2 198.18.0.1]}",
		"pool [198.18.0.32] dnat [198.18.0.7] own [198.18.0.9]", "outbound [198.18.0.2]", "outbound_changed {Came:[] Left:[198.18.0.1] Ended:3 Addresses:[198.18.0.2]}",
	}; !slices.Equal(r.calls, want) {
		t.Errorf("got  %q\nwant %q", r.calls, want)
	}
	if !k.Past(first) || k.Past(second) || len(now.Pool.Addresses) != 2 {
		t.Errorf("past: %v %v, and the pool of the configuration is %s", k.Past(first), k.Past(second), now.Pool.Addresses)
	}
}
