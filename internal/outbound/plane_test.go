package outbound

import (
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/realmgate/realmgate/internal/config"
	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/events/event"
)

// recorder is a data plane that notes what is asked of it, in order.
type recorder struct {
	Plane
	machine        []netip.Addr // the addresses that looks find
	calls          []string
	fails          string // how the call begins that fails next, when it has done its work
	outbound, pool []netip.Addr
	sessions       []datapath.Session
	slots          []datapath.Slot
}

var errFails = errors.New("it fails")

func (r *recorder) note(call string) error {
	r.calls = append(r.calls, call)
	if r.fails == "" || !strings.HasPrefix(call, r.fails) {
		return nil
	}
	r.fails = ""
	return errFails
}

func (r *recorder) MostOutbound() int { return 3 }

func (r *recorder) SetOutbound(addresses []netip.Addr) (datapath.OutboundChange, error) {
	change := datapath.OutboundChange{Came: without(addresses, r.outbound), Left: without(r.outbound, addresses)}
	change.Ended = 2 * len(change.Left)
	r.outbound = addresses
	return change, r.note(fmt.Sprint("outbound ", addresses))
}

func without(list, others []netip.Addr) []netip.Addr {
	return slices.DeleteFunc(slices.Clone(list), func(a netip.Addr) bool { return slices.Contains(others, a) })
}

func (r *recorder) SetAddresses(pool, dnat []netip.Addr, own ...netip.Addr) error {
	r.pool = pool
	return r.note(fmt.Sprint("pool ", pool, " dnat ", dnat, " own ", own))
}

func (r *recorder) SetWebAddresses(web []netip.Addr) error {
	return r.note(fmt.Sprint("web ", web))
}

func (r *recorder) EndSessions(wanted func(datapath.Session) bool) (int, error) {
	before := len(r.sessions)
	r.sessions = slices.DeleteFunc(r.sessions, wanted)
	return before - len(r.sessions), r.note("end")
}

func (r *recorder) Emit(e event.Event) { r.calls = append(r.calls, fmt.Sprintf("%s %+v", e.Kind(), e)) }

// keeper keeps the addresses of the recorder.
func (r *recorder) keeper(v *InForce) *Keeper {
	k := New(Options{InForce: func() InForce { return *v }, Events: r, Log: slog.New(slog.DiscardHandler)})
	k.look = func(Plan) ([]netip.Addr, error) { return r.machine, nil }
	return k
}

var (
	first, second, lent, dnat, own, shared = address("198.18.0.1"), address("198.18.0.2"), address("198.18.0.32"), address("198.18.0.7"), address("198.18.0.9"), address("198.18.0.80")
)

func address(text string) netip.Addr { return netip.MustParseAddr(text) }

func configured(pool ...netip.Addr) *config.Config {
	c := new(config.Config)
	c.Outbound.Addresses, c.Pool.Addresses = []netip.Addr{second}, pool
	c.Hosts = slices.Grow(c.Hosts, 1)[:1]
	c.Hosts[0].OneToOne = own
	return c
}

// An address that its interface has no more leaves the pool and the web before it is outbound no more, and the sessions of
// names there end; what the file has in them stays, and what is a host's alone.
func TestAddressLeavesThePoolFirst(t *testing.T) {
	t.Parallel()
	session := func(origin string, at netip.Addr) datapath.Session {
		return datapath.Session{Origin: origin, External: netip.AddrPortFrom(at, 80)}
	}
	r := &recorder{sessions: []datapath.Session{session("pool", first), session("pool", lent), session("web", first), session("mapping", first)}}
	file, now := configured(lent), configured(lent, first)
	file.Web.Addresses, now.Web.Addresses = []netip.Addr{shared}, []netip.Addr{shared, first}
	k := r.keeper(&InForce{Config: now, File: file, Dnat: []netip.Addr{dnat}})
	if err := k.Open(r, now, []netip.Addr{second, first}).Commit(); err != nil {
		t.Fatal(err)
	}
	r.machine = []netip.Addr{second}
	k.Prepare(now, r.machine).Settle()
	if want := []string{
		"outbound [198.18.0.2 198.18.0.1]", "outbound_changed {Came:[198.18.0.2 198.18.0.1] Left:[] Ended:0 Addresses:[198.18.0.2 198.18.0.1]}",
		"pool [198.18.0.32] dnat [198.18.0.7] own [198.18.0.9]", "web [198.18.0.80]", "outbound [198.18.0.2]", "end",
		"outbound_changed {Came:[] Left:[198.18.0.1] Ended:4 Addresses:[198.18.0.2]}",
	}; !slices.Equal(r.calls, want) {
		t.Errorf("got  %q\nwant %q", r.calls, want)
	}
	if !k.Past(first) || k.Past(second) || len(now.Pool.Addresses) != 2 {
		t.Errorf("past: %v %v, and the pool of the configuration is %s", k.Past(first), k.Past(second), now.Pool.Addresses)
	}
}
