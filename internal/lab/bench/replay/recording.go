package replay

import (
	"fmt"
	"io"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
)

const (
	typeIPv4 = packets.TypeIPv4
	typeVLAN = packets.TypeVLAN
	typeQinQ = packets.TypeQinQ
)

// Limits of what is replayed: a flow has an address of its own outside, and a packet fits
// a rig's links.
const (
	MostFlows   = 60_000
	MostHosts   = 256
	mostPackets = 5_000_000
	mostOctets  = 1500
	leastTTL    = 2 // a device forwards no packet with less
)

// Packet is one of a flow's.
type Packet struct {
	Flow    int
	Back    bool // from the end that did not begin the flow
	Content packets.Packet
}

// Recording is what can be replayed of a capture, in its order.
type Recording struct {
	Packets []Packet
	Flows   []Flow
	Hosts   int // ends that began a flow, MostHosts at most: those beyond share numbers
	Skipped map[string]int
}

// Flow is a 5-tuple, from the end that was first seen to send.
type Flow struct {
	Tuple model.Tuple
	Host  int // the number of its first end
}

// Read reads a capture. What is no UDP, TCP or ICMP query over IPv4, is fragmented, was cut
// or is longer than a frame is skipped, and counted by why.
func Read(in io.Reader) (*Recording, error) {
	r := &Recording{Skipped: map[string]int{}}
	known, hosts := map[model.Tuple]int{}, map[netip.Addr]int{}
	err := readPackets(in, func(etherType uint16, octets []byte, whole bool) {
		p, why := usable(etherType, octets, whole)
		if why == "" && len(r.Packets) == mostPackets {
			why = "beyond 5,000,000 packets"
		}
		if why == "" {
			why = r.add(p, known, hosts)
		}
		if why != "" {
			r.Skipped[why]++
		}
	})
	if err == nil && len(r.Packets) == 0 {
		err = fmt.Errorf("nothing of the capture can be replayed: %s", r.Told())
	}
	r.Hosts = min(len(hosts), MostHosts)
	return r, err
}

// usable parses a packet, or says why it is skipped.
func usable(etherType uint16, octets []byte, whole bool) (p packets.Packet, why string) {
	switch {
	case etherType != typeIPv4:
		return p, "not IPv4"
	case !whole:
		return p, "cut by the capture"
	}
	p, err := packets.ParseNetwork(typeIPv4, octets, false)
	switch {
	case err != nil || p.IPv4 == nil:
		return p, "malformed"
	case p.IPv4.MF || p.IPv4.FragmentOffset > 0:
		return p, "a fragment"
	case len(p.Network()) > mostOctets:
		return p, "longer than 1,500 octets, as offloads make them"
	case p.UDP == nil && p.TCP == nil && p.ICMP == nil:
		return p, "another protocol"
	case p.ICMP != nil && p.ICMP.Type != packets.EchoRequest && p.ICMP.Type != packets.EchoReply:
		return p, "no query of ICMP"
	}
	return p, ""
}

// add gives a packet to its flow, or begins one.
func (r *Recording) add(p packets.Packet, known map[model.Tuple]int, hosts map[netip.Addr]int) (why string) {
	t := p.Tuple()
	back := model.Tuple{Protocol: t.Protocol, Source: t.Destination, Destination: t.Source}
	flow, ok := known[t]
	_, answers := known[back]
	switch {
	case ok:
	case answers:
		flow = known[back]
	case len(r.Flows) == MostFlows:
		return "of a flow beyond 60,000"
	default:
		flow = len(r.Flows)
		known[t] = flow
		host, seen := hosts[t.Source.Addr()]
		if !seen {
			host = len(hosts)
			hosts[t.Source.Addr()] = host
		}
		r.Flows = append(r.Flows, Flow{t, host % MostHosts})
	}
	r.Packets = append(r.Packets, Packet{flow, !ok && answers, p})
	return ""
}

// Told lists what was skipped.
func (r *Recording) Told() string {
	var list []string
	for _, why := range slices.Sorted(maps.Keys(r.Skipped)) {
		list = append(list, fmt.Sprintf("%d %s", r.Skipped[why], why))
	}
	if len(list) == 0 {
		return "nothing is skipped"
	}
	return "skipped: " + strings.Join(list, ", ")
}

// Between returns the packet with other ends, its checksums right.
func (p Packet) Between(source, destination netip.AddrPort) packets.Packet {
	return p.Content.Change(func(q *packets.Packet) {
		q.IPv4.Source, q.IPv4.Destination = source.Addr(), destination.Addr()
		q.IPv4.Checksum, q.IPv4.ChecksumValue = 0, 0
		if q.IPv4.TTL < leastTTL {
			q.IPv4.TTL = packets.TTL
		}
		switch {
		case q.UDP != nil:
			q.UDP.Source, q.UDP.Destination = source.Port(), destination.Port()
			if q.UDP.Checksum != packets.ChecksumZero {
				q.UDP.Checksum, q.UDP.ChecksumValue = 0, 0
			}
		case q.TCP != nil:
			q.TCP.Source, q.TCP.Destination = source.Port(), destination.Port()
			q.TCP.Checksum, q.TCP.ChecksumValue = 0, 0
		case q.ICMP != nil:
			identifier := source.Port()
			if p.Back {
				identifier = destination.Port()
			}
			q.ICMP.Rest = uint32(identifier)<<16 | uint32(q.ICMP.Sequence())
			q.ICMP.Checksum, q.ICMP.ChecksumValue = 0, 0
		}
	})
}
