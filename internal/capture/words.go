package capture

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/model"
)

// inWords says of each reason what happened. TO is where the packet went to, ADDRESS that without the port, and SENDER the address that it came from.
var inWords = map[model.Reason]string{
	model.ReasonDropMalformed:        "its lengths, versions or ports contradict each other",
	model.ReasonDropFragment:         "a fragment whose first one has not passed",
	model.ReasonDropBadFragment:      "a fragment as no sender makes it",
	model.ReasonDropQuotedFragment:   "an ICMP error about a later fragment, which has no ports",
	model.ReasonDropVLAN:             "it has a VLAN tag",
	model.ReasonDropEthertype:        "neither IPv4, IPv6 nor ARP",
	model.ReasonDropProtocol:         "the protocol is not translated",
	model.ReasonDropICMPType:         "the ICMP message is neither an echo nor an error",
	model.ReasonDropTCPFlags:         "TCP flags that no sender sets",
	model.ReasonDropSmallMTU:         "an ICMP error that asks for packets shorter than any link needs",
	model.ReasonDropBadAddress:       "no packet comes from SENDER or goes to ADDRESS",
	model.ReasonDropMulticast:        "ADDRESS is multicast beyond the link",
	model.ReasonDropLinkBroadcast:    "a packet for one host in a frame for many",
	model.ReasonDropSourceRoute:      "SENDER chooses the way itself",
	model.ReasonDropBadChecksum:      "a checksum is wrong",
	model.ReasonDropIPv6:             "IPv6 that is not for the gateway",
	model.ReasonDropTTLExpired:       "its hops are used up",
	model.ReasonDropTooBig:           "it is too big for the way to ADDRESS, and must not be fragmented",
	model.ReasonDropNotForUs:         "ADDRESS is neither of the pool, nor outbound, nor the gateway's",
	model.ReasonDropSpoofedSource:    "SENDER does not send from that side",
	model.ReasonDropPrivateSource:    "the private source SENDER must not leave",
	model.ReasonDropARPSender:        "nobody on that link can be the ARP sender SENDER",
	model.ReasonDropNoBinding:        "no service is at TO",
	model.ReasonDropNoReservation:    "ADDRESS is lent to nobody that SENDER could be",
	model.ReasonDropClaimUnproved:    "SENDER acknowledges nothing that the host has sent",
	model.ReasonDropClaimLost:        "another client has taken the last claim of TO",
	model.ReasonDropCookie:           "of no connection that was begun at TO",
	model.ReasonDropNameUnknown:      "no host has the name that SENDER asks for",
	model.ReasonDropNameNone:         "SENDER closed before it named a host",
	model.ReasonDropNameMalformed:    "the name that SENDER asks for cannot be read",
	model.ReasonDropNameLate:         "SENDER has not named a host in time",
	model.ReasonDropRedirected:       "SENDER was led to https",
	model.ReasonDropQuicVersion:      "SENDER speaks a version of QUIC that is not read",
	model.ReasonDropRebinding:        "SENDER has sessions with several hosts at ADDRESS, and this is of none of them",
	model.ReasonDropHostRefused:      "the host of the name does not answer, or refuses",
	model.ReasonDropHostOptions:      "the host can less than its clients were promised",
	model.ReasonDropNoMapping:        "nobody inside has TO open",
	model.ReasonDropFiltered:         "the host that has TO open has sent nothing to SENDER",
	model.ReasonDropNoSession:        "about nothing that the gateway knows of SENDER",
	model.ReasonDropNotSYN:           "of no session, and it begins none",
	model.ReasonDropSessionConflict:  "another session has the same ends",
	model.ReasonDropServiceClosed:    "the service of the session is closed",
	model.ReasonDropBanned:           "the remote address is banned",
	model.ReasonDropDenied:           "a function of a chain, or of the protection, denies it",
	model.ReasonDropHoneypot:         "TO is of the honeypot",
	model.ReasonDropNoPact:           "ADDRESS stands for nobody: its pact has ended",
	model.ReasonDropProxyForeign:     "ADDRESS stands for somebody to another host",
	model.ReasonDropPactDirection:    "SENDER's side may open nothing by the pact",
	model.ReasonDropPactService:      "the pact has no such port",
	model.ReasonDropPactSessions:     "the other edge has as many sessions by the pact as was agreed",
	model.ReasonDropNoLink:           "the link to the other edge is gone or banned",
	model.ReasonDropEdgeMalformed:    "no header as another edge writes it",
	model.ReasonDropEdgeFragment:     "a fragment of a packet of the tunnel",
	model.ReasonDropEdgeLink:         "SENDER names a link that there is not",
	model.ReasonDropEdgeSource:       "SENDER names the link of another edge",
	model.ReasonDropEdgeEpoch:        "SENDER has used a key that is over, or not yet there",
	model.ReasonDropEdgeForged:       "SENDER's authenticator is wrong",
	model.ReasonDropEdgeTag:          "SENDER names a pact that there is not",
	model.ReasonDropSessionTableFull: "the table of sessions is full for that side",
	model.ReasonDropSessionIndexFull: "a bucket of the index of sessions is full",
	model.ReasonDropMappingIndexFull: "a bucket of the index of mappings is full",
	model.ReasonDropNoAddress:        "no outbound address lives",
	model.ReasonDropNoPort:           "the outbound address has no port left",
	model.ReasonDropHostSessions:     "the host inside has as many sessions as it may",
	model.ReasonDropHostPorts:        "the host inside has as many ports as it may",
	model.ReasonDropHostRate:         "the host inside has opened as many sessions in this second as it may",
	model.ReasonDropRemoteSessions:   "the remote address has as many sessions as it may",
	model.ReasonDropRemoteRate:       "the remote address has opened as many sessions in this second as it may",
	model.ReasonDropBindingSessions:  "the service at TO has as many sessions as it may",
	model.ReasonDropMappingSessions:  "as many sessions from outside use the host's port as may",
	model.ReasonDropClientLimit:      "SENDER has as many sessions with the service as a client may",
	model.ReasonDropQuestionLimit:    "more for the name server than may reach it",
	model.ReasonDropWebFull:          "more for web addresses than the daemon takes",
	model.ReasonDropDaemonAway:       "no daemon reads which name SENDER asks for",
	model.ReasonDropNoRoute:          "there is no way to ADDRESS",
	model.ReasonDropBusy:             "another CPU had the lock for too long",
	model.ReasonDropInternal:         "the data plane met what cannot be",
}

// words says why a packet was dropped.
func words(d api.Drop) string {
	return strings.NewReplacer(
		"TO", end(d.Tuple.Protocol, d.Tuple.Destination, "its destination"),
		"ADDRESS", end(model.AnyProtocol, d.Tuple.Destination, "its destination"),
		"SENDER", end(model.AnyProtocol, d.Tuple.Source, "its sender"),
	).Replace(inWords[d.Reason])
}

// end is one end of a packet, with the port where the protocol has any; none where the packet was not read so far.
func end(p model.Protocol, e netip.AddrPort, none string) string {
	switch {
	case !e.IsValid() || e.Addr().IsUnspecified():
		return none
	case p.HasPorts():
		return e.String()
	}
	return e.Addr().String()
}

// between is a packet's protocol, and its ends.
func between(t model.Tuple) string {
	return fmt.Sprintf("%s %s > %s", t.Protocol, end(t.Protocol, t.Source, "its sender"), end(t.Protocol, t.Destination, "its destination"))
}
