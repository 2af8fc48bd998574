package explain

import (
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/model"
)

// end tells why the packet ended so, unless a function has said it, and returns that.
func (t *telling) end(reason model.Reason) api.Ending {
	if reason == model.ReasonHeldForName && t.name == nil && t.says != "" {
		reason = model.ReasonDropNameUnknown
	}
	if step, says, why := t.because(reason); step != "" {
		t.step(step, says, "%s", why)
	}
	if reason == model.ReasonToGateway && t.Direction == model.In && !t.hairpin && t.Protocol == model.UDP && t.asksForNames(t.State) && t.State.Config.DNS.Verifies() {
		t.step("question", "continue", "of a lent name who has not proved its address is told to come by TCP; other questions reach the daemon, within limits")
	}
	return t.ending(reason)
}

// because is what stands in the way of a flow, empty where the steps before say it.
func (t *telling) because(reason model.Reason) (step, says, why string) {
	drop := func(step, format string, args ...any) (string, string, string) {
		return step, "drop", fmt.Sprintf(format, args...)
	}
	if t.told[datapath.TraceCookie] && t.redirects() && !reason.IsDrop() {
		return "host", "redirect", fmt.Sprintf("requests of HTTP are told to come by https (308, drop_redirected); those of ACME's http-01 are led to %s", t.host())
	}
	if t.told[datapath.TraceCookie] && t.name != nil && !reason.IsDrop() {
		return "host", "connect", fmt.Sprintf("%s is called with the client's own address, and has to answer within 3 s", t.host())
	}
	switch reason {
	case model.ReasonDropNameUnknown:
		return drop("name", "no web name at %s port %d is %s: TLS hears the alert unrecognized_name, HTTP the status 421, QUIC nothing", t.Protocol, t.Port, t.says)
	case model.ReasonHeldForName:
		return "", "", ""
	case model.ReasonForwarded, model.ReasonForwardedByStack, model.ReasonForwardedNoNeighbour, model.ReasonForwardedIPv6, model.ReasonDropDenied, model.ReasonDropHoneypot, model.ReasonAnsweredHoneypot:
		return "", "", ""
	case model.ReasonToGateway:
		return "address", "gateway", fmt.Sprintf("%s is for the gateway itself", t.Destination)
	case model.ReasonInsideToInside:
		return "route", "inside", "from one private network to another the kernel routes it"
	case model.ReasonDropBanned:
		return drop("ban", "%s", t.Bans.Why(t.remote()))
	case model.ReasonDropBadAddress:
		return drop("address", "no packet comes from %s or goes to %s", t.Source, t.Destination)
	case model.ReasonDropMulticast:
		return drop("address", "%s is multicast", t.Destination)
	case model.ReasonDropIPv6:
		return drop("address", "IPv6 is not forwarded: that is what ipv6 says in the configuration")
	case model.ReasonDropSpoofedSource:
		if t.Direction == model.Out {
			return drop("address", "%s is the address of no host inside", t.Source)
		}
		return drop("address", "nobody outside has %s, which is the gateway's own or of a private network", t.Source)
	case model.ReasonDropNotForUs:
		if slices.ContainsFunc(t.State.Config.Outbound.Except, func(p netip.Prefix) bool { return p.Contains(t.Source) }) {
			return drop("address", "from %s, of outbound.except, answers come in, and nothing is opened: hosts are reached by name", t.Source)
		}
		return drop("address", "%s is neither of the pool nor outbound: hosts are reached by name", t.Destination)
	case model.ReasonDropNoRoute:
		if t.dnat.IsValid() {
			return drop("route", "%s is behind no private interface", t.dnat)
		}
		return drop("route", "there is no way to %s", t.Destination)
	case model.ReasonDropNoMapping:
		return drop("mapping", "no private host has that port")
	case model.ReasonDropNoSession:
		return drop("session", "no private host has sent %s to %s", t.Protocol, t.Source)
	case model.ReasonDropNoBinding:
		if slices.Contains(t.State.Dnat, t.Destination) {
			return drop("dnat", "no chain sends it on, and nothing else is at %s", t.Destination)
		}
		if slices.Contains(t.State.Config.Web.Addresses, t.Destination) {
			return drop("name", "no web name is at %s port %d", t.Protocol, t.Port)
		}
		return drop("binding", "no service has that port of the address now: ask for a name first")
	case model.ReasonDropServiceClosed:
		return drop("service", "it is closed")
	case model.ReasonDropFiltered:
		return drop("filtering", "%s: the host has sent nothing there", t.State.Config.Outbound.Filtering)
	case model.ReasonDropNoReservation:
		return drop("claim", "no answer is left that %s could come by", t.Source)
	case model.ReasonDropClientLimit:
		return drop("claim", "%s has %d sessions with it, the most that a client may (TCP and all others count apart)", t.Source, t.known)
	case model.ReasonDropSessionConflict:
		return drop("nat", "another host, or another chain, has a session of the same two ends, and %s has no other port", t.Protocol)
	case model.ReasonDropNoAddress:
		return drop("nat", "no outbound address lives")
	case model.ReasonDropNoPort:
		return drop("nat", "no port is free for it")
	case model.ReasonDropHostSessions, model.ReasonDropHostPorts, model.ReasonDropHostRate, model.ReasonDropRemoteSessions, model.ReasonDropRemoteRate:
		return drop("limit", "%s", t.limitText(reason))
	}
	return drop("packet", "%s", reason)
}

// remote is the flow's end outside.
func (t *telling) remote() netip.Addr {
	if t.Direction == model.Out {
		return t.Destination
	}
	return t.Source
}

func (t *telling) limitText(reason model.Reason) string {
	who, has := t.limit.Address, t.limit.Number
	switch reason {
	case model.ReasonDropHostSessions:
		return fmt.Sprintf("%s has %d sessions: as many as a host may, or may of those that are left (limits.host_sessions)", who, has)
	case model.ReasonDropHostPorts:
		return fmt.Sprintf("%s has %d ports of %s: as many as a host may, or may of those that are left (limits.host_ports); by one that it has it gets through",
			who, has, t.Protocol)
	case model.ReasonDropRemoteSessions:
		return fmt.Sprintf("%s has %d sessions open: as many as a remote address may, or may of those that are left (limits.remote_sessions)", who, has)
	case model.ReasonDropHostRate:
		return fmt.Sprintf("%s has opened as many sessions in this second as a host may (limits.host_rate)", who)
	}
	return fmt.Sprintf("%s has opened as many sessions in this second as a remote address may (limits.remote_rate)", who)
}

// sessions says which sessions the flow's ends have. Where nobody knows from which port it
// comes there may be several.
func (t *telling) sessions() {
	count, last := 0, datapath.Session{}
	ends := func(one, other netip.AddrPort) bool {
		return one.Addr() == other.Addr() && (!t.Protocol.HasPorts() || one.Port() == other.Port())
	}
	public := netip.AddrPortFrom(t.Destination, t.Port)
	err := t.Data.Sessions(func(s datapath.Session) {
		var same bool
		switch {
		case t.Direction == model.Out:
			same = s.Private.Addr() == t.Source && ends(s.Remote, public)
		case t.name != nil:
			same = s.Remote.Addr() == t.Source && ends(s.Private, netip.AddrPortFrom(t.name.Host.Address, t.lease().Port))
		default:
			same = s.Remote.Addr() == t.Source && ends(s.External, public)
		}
		if same && s.Protocol == t.Protocol {
			if count++; count == 1 || s.Age < last.Age {
				last = s
			}
		}
	})
	if err != nil || count == 0 {
		return
	}
	why := "is judged again at its next packet"
	if checked, err := t.Data.CheckedNow(last); checked && err == nil {
		why = "is judged by the policy in force"
	}
	t.step("session", "open", "%d; the latest %s, %s old, %s", count, last.State, last.Age.Round(time.Second), why)
}

// mss tells where the SYNs of a flow are lowered below what Ethernet carries, which most machines say.
func (t *telling) mss(most uint32) {
	const ethernetMTU = 1500
	narrow := t.Destination
	switch {
	case t.mtu.Says != 0:
		narrow = t.Source
	case t.dnat.IsValid():
		narrow = t.dnat
	}
	switch configured := t.State.Config.MSS; {
	case configured != model.MSSAuto && int(most) == int(configured):
		t.step("mss", "lower", "SYNs of both ends say at most %d octets, as configured", most)
	case t.mtu.Number < ethernetMTU:
		t.step("mss", "lower", "SYNs of both ends say at most %d octets: %d are the MTU of the way to %s", most, t.mtu.Number, narrow)
	}
}
