package gateway

import (
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/protect/ban"
)

// way is where the kernel would send a packet.
type way string

const (
	inside  way = "private"
	outside way = "public"
	here    way = "here" // the gateway itself
	nowhere way = ""
)

func (e *explainer) way(to netip.Addr) way {
	routes, err := netlink.RouteGet(to.AsSlice())
	if err != nil || len(routes) == 0 {
		return nowhere
	}
	if routes[0].Type == unix.RTN_LOCAL {
		return here
	}
	for _, i := range e.data.Interfaces() {
		if i.Ifindex == routes[0].LinkIndex {
			return way(i.Side)
		}
	}
	return nowhere
}

// isBad reports whether no packet may come from an address (address_is_bad of
// bpf/include/packet.h).
func isBad(a netip.Addr) bool {
	first := a.As4()[0]
	return first == 0 || first == 127 || first >= 224
}

// fromOutside is what all flows from outside meet, wherever they go.
func (e *explainer) fromOutside(f flow) (api.Ending, error) {
	if end, err := e.ban(f.source); ends(end) || err != nil {
		return end, err
	}
	return e.spoofed(f), nil
}

// spoofed says what becomes of a flow from outside by where it comes from (source_is_inside
// of bpf/include/reverse_path.h).
func (e *explainer) spoofed(f flow) api.Ending {
	if way := e.way(f.source); e.kindOf(f.source) != notOurs || way == inside || way == here {
		e.step("address", "drop", "nobody outside has %s, which is %s", f.source, ours(way))
		return dropped("drop_spoofed_source")
	}
	return goOn
}

// elsewhere says the same of a flow from inside. Which port it comes by is not asked: it
// is taken to be the right one, if there is one.
func (e *explainer) elsewhere(f flow) api.Ending {
	if e.kindOf(f.source) != notOurs || e.way(f.source) != inside {
		e.step("address", "drop", "%s is the address of no host inside", f.source)
		return dropped("drop_spoofed_source")
	}
	return goOn
}

func ours(w way) string {
	if w == inside {
		return "of a private network"
	}
	return "the gateway's own"
}

func (e *explainer) ban(remote netip.Addr) (api.Ending, error) {
	banned, err := e.data.IsBanned(remote)
	if err != nil {
		return goOn, err
	}
	e.bans.mutex.Lock()
	defer e.bans.mutex.Unlock()
	b, known := e.bans.list.Of(remote)
	if !banned {
		e.step("ban", "continue", "%s", e.notBanned(remote, b, known))
		return goOn, nil
	}
	why := "the kernel has it"
	if known {
		why = fmt.Sprintf("%s since %s, ", b.Prefix, b.Since.UTC().Format(time.DateTime))
		if b.Until.IsZero() {
			why += "for ever"
		} else {
			why += "until " + b.Until.UTC().Format(time.DateTime) + " UTC"
		}
		if b.Reason != "" {
			why += ": " + b.Reason
		}
	}
	e.step("ban", "drop", "%s", why)
	return dropped("drop_banned"), nil
}

// notBanned says that an address is banned by nothing, or spared by what bans it. Under
// bans.mutex.
func (e *explainer) notBanned(remote netip.Addr, b ban.Ban, known bool) string {
	if known && e.bans.guard != nil {
		if why := e.bans.guard.why(netip.PrefixFrom(remote, remote.BitLen())); why != nil {
			return fmt.Sprintf("%s is banned, and %s is spared: %v", b.Prefix, remote, why)
		}
	}
	return fmt.Sprintf("%s is not banned", remote)
}

// parse says what becomes of a flow by its addresses alone (packet_parse_ip of
// bpf/include/packet.h).
func (e *explainer) parse(f flow) (api.Ending, error) {
	switch to := f.destination; {
	case isBad(f.source):
		e.step("address", "drop", "no packet comes from %s", f.source)
		return dropped("drop_bad_address"), nil
	case !to.IsValid():
		return goOn, nil
	case to.IsLinkLocalMulticast(), to == netip.AddrFrom4([4]byte{255, 255, 255, 255}):
		return e.toLink(f)
	case to.IsMulticast():
		e.step("address", "drop", "%s is multicast", to)
		return dropped("drop_multicast"), nil
	case isBad(to):
		e.step("address", "drop", "no packet goes to %s", to)
		return dropped("drop_bad_address"), nil
	}
	return goOn, nil
}

// destinationOut says what becomes of a flow from inside by where it goes.
func (e *explainer) destinationOut(f flow) (api.Ending, error) {
	switch e.kindOf(f.destination) {
	case ofPool, ofStatic, ofHost:
		return goOn, nil
	case ofOutbound:
		if kind, err := e.kindFor(f); kind == ofPool || err != nil {
			return goOn, err
		}
		if slices.Contains(e.view.static.ports, datapath.Service{Host: f.destination, Port: f.port, Protocol: f.protocol}) {
			return goOn, nil
		}
		if f.protocol.ByAddress() {
			if e.isOwn(f.destination) {
				return e.toGateway(f)
			}
			return goOn, nil
		}
		_, known, err := e.data.MappedTo(f.protocol, netip.AddrPortFrom(f.destination, f.port))
		if known || err != nil || !e.isOwn(f.destination) {
			return goOn, err
		}
		return e.toGateway(f)
	}
	switch e.way(f.destination) {
	case outside:
		return goOn, nil
	case inside:
		if end := e.elsewhere(f); ends(end) {
			return end, nil
		}
		e.step("route", "inside", "from one private network to another the kernel routes it")
		return notJudged("inside_to_inside"), nil
	case here:
		return e.toGateway(f)
	}
	e.step("route", "drop", "there is no way to %s", f.destination)
	return dropped("drop_no_route"), nil
}

// session says which sessions the flow's ends have. Where nobody knows from which port
// it comes there may be several.
func (e *explainer) session(f flow, private netip.AddrPort) error {
	remote, external := f.source, netip.AddrPortFrom(f.destination, f.port)
	count, last := 0, datapath.Session{}
	err := e.data.Sessions(func(s datapath.Session) {
		var same bool
		switch {
		case f.direction == model.Out:
			same = s.Private.Addr() == f.source && sameEnd(s.Remote, external, f.protocol)
		case f.name != nil:
			same = s.Remote.Addr() == remote && sameEnd(s.Private, private, f.protocol)
		default:
			same = s.Remote.Addr() == remote && sameEnd(s.External, external, f.protocol)
		}
		if same && s.Protocol == f.protocol {
			if count++; count == 1 || s.Age < last.Age {
				last = s
			}
		}
	})
	if err != nil || count == 0 {
		return err
	}
	judged, err := e.data.JudgedNow(last)
	if err != nil {
		return err
	}
	why := fmt.Sprintf("%d; the latest %s, %s old, ", count, last.State, last.Age.Round(time.Second))
	if judged {
		why += "is judged by the policy in force"
	} else {
		why += "is judged again at its next packet"
	}
	e.step("session", "open", "%s", why)
	return nil
}

// sameEnd leaves out the port of what has none.
func sameEnd(one, other netip.AddrPort, p model.Protocol) bool {
	return one.Addr() == other.Addr() && (!p.HasPorts() || one.Port() == other.Port())
}
