package outbound

import (
	"errors"
	"net/netip"
	"slices"

	"github.com/realmgate/realmgate/internal/config"
	"github.com/realmgate/realmgate/internal/datapath"
)

// Plane is what has the addresses: the data plane.
type Plane interface {
	SetOutbound(addresses []netip.Addr) (datapath.OutboundChange, error)
	SetAddresses(pool, dnat []netip.Addr, own ...netip.Addr) error
	SetWebAddresses(web []netip.Addr) error
	EndSessions(wanted func(datapath.Session) bool) (n int, err error)
	TendSlots() error
	MostOutbound() int
	Slots() ([]datapath.Slot, error)
	HostShares() (map[int]float64, error)
}

// InForce is what the data plane answers for beside the outbound addresses.
type InForce struct {
	Config *config.Config // with the addresses of now
	File   *config.Config // with the names of interfaces
	Dnat   []netip.Addr   // addresses of dnat's own
}

// put gives the data plane the addresses. Those that have left their interface are taken out of the pool and the web before
// they are outbound no more, so that nobody answers ARP for them, and the sessions there end.
func (k *Keeper) put(addresses []netip.Addr) (datapath.OutboundChange, error) {
	v := k.options.InForce()
	pool, web, left := slices.Clone(v.Config.Pool.Addresses), slices.Clone(v.Config.Web.Addresses), v.left(addresses)
	isLeft := func(a netip.Addr) bool { return slices.Contains(left, a) }
	var err error
	if len(left) > 0 || k.stale { // what has left may be back
		err = errors.Join(k.plane.SetAddresses(slices.DeleteFunc(pool, isLeft), v.Dnat, v.Config.Hosts.OneToOneAddresses()...),
			k.plane.SetWebAddresses(slices.DeleteFunc(web, isLeft)))
	}
	change, outboundErr := k.plane.SetOutbound(addresses)
	if len(left) > 0 { // those by a mapping have ended
		ended, endErr := k.plane.EndSessions(func(s datapath.Session) bool {
			return (s.IsLent() || s.Origin == "web") && isLeft(s.External.Addr())
		})
		change.Ended += ended
		err = errors.Join(err, endErr)
	}
	return change, errors.Join(err, outboundErr)
}

// left are the addresses of the pool and of the web that have left their interface.
func (v InForce) left(addresses []netip.Addr) []netip.Addr {
	followed := distinct(v.Config.Pool.Addresses[len(v.File.Pool.Addresses):], v.Config.Web.Addresses[len(v.File.Web.Addresses):])
	return slices.DeleteFunc(followed, func(a netip.Addr) bool { return slices.Contains(addresses, a) })
}

// union is a change so far and the next step of it: an address has come that is one of now, and has left that is none.
func union(before, next datapath.OutboundChange, now []netip.Addr) datapath.OutboundChange {
	among := func(a netip.Addr) bool { return slices.Contains(now, a) }
	return datapath.OutboundChange{
		Came:  slices.DeleteFunc(distinct(before.Came, next.Came), func(a netip.Addr) bool { return !among(a) }),
		Left:  slices.DeleteFunc(distinct(before.Left, next.Left), among),
		Ended: before.Ended + next.Ended,
	}
}

// distinct are the addresses of two lists, each once.
func distinct(a, b []netip.Addr) (list []netip.Addr) {
	for _, x := range slices.Concat(a, b) {
		if !slices.Contains(list, x) {
			list = append(list, x)
		}
	}
	return list
}
