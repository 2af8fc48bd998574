package datapath

import (
	"math"
	"net/netip"

	"github.com/realmgate/realmgate/internal/model"
)

// Limits say what one may take of the tables. 0 is no limit.
type Limits struct {
	// HostSessions are those that one host inside has opened, until their records end.
	HostSessions int
	// HostPorts are its mappings of each protocol, those that rest among them.
	HostPorts ProtocolLimits
	// HostRate is how many sessions it may open in a second, at most TALLY_RATE_MAX.
	HostRate int
	// RemoteSessions are those open that one remote address has opened, RemoteRate how many it
	// may open in a second, at most TALLY_RATE_MAX.
	RemoteSessions, RemoteRate int
	// BindingSessions are those open of one binding, MappingSessions those from outside through
	// one mapping, at most MaxMappingSessions, which is also what 0 means.
	BindingSessions, MappingSessions int
}

// ProtocolLimits are limits for each protocol.
type ProtocolLimits struct{ UDP, TCP, ICMP int }

// Of is the limit of a protocol.
func (l ProtocolLimits) Of(protocol model.Protocol) int {
	return Subscriber{UDP: l.UDP, TCP: l.TCP, ICMP: l.ICMP}.Ports(protocol)
}

func (l Limits) record() bpfLimits {
	return bpfLimits{
		HostSessions: limitOf(l.HostSessions),
		HostPorts:    [3]uint32{limitOf(l.HostPorts.UDP), limitOf(l.HostPorts.TCP), limitOf(l.HostPorts.ICMP)},
		HostRate:     limitOf(l.HostRate), RemoteSessions: limitOf(l.RemoteSessions), RemoteRate: limitOf(l.RemoteRate),
		BindingSessions: limitOf(l.BindingSessions), MappingSessions: min(limitOf(l.MappingSessions), MaxMappingSessions),
	}
}

// limitOf is the number as the programs compare with it: NO_LIMIT where there is none.
func limitOf(n int) uint32 {
	if n <= 0 {
		return math.MaxUint32
	}
	return uint32(min(n, math.MaxUint32))
}

// Subscriber is what a host inside has open that counts against its limits.
type Subscriber struct {
	Sessions       int // that it opened
	UDP, TCP, ICMP int // ports
}

func (s *Subscriber) ports(protocol uint32) *int {
	return [protocols]*int{&s.UDP, &s.TCP, &s.ICMP}[protocol]
}

// Ports is its count of a protocol.
func (s Subscriber) Ports(protocol model.Protocol) int {
	switch protocol {
	case model.UDP:
		return s.UDP
	case model.TCP:
		return s.TCP
	}
	return s.ICMP
}

// Subscribers lists the hosts inside that have something open.
func (d *sessionTable) Subscribers() (map[netip.Addr]Subscriber, error) {
	list := map[netip.Addr]Subscriber{}
	err := ForAll(d.objects.SubscriberTable, func(_ uint32, bucket *bpfTallyBucket) {
		for _, t := range bucket.Tally {
			count := int(t.Uses >> 32)
			if count == 0 {
				continue
			}
			address := addressOf(uint32(t.Uses))
			s := list[address] // two CPUs may have given it two entries
			for protocol := range uint32(protocols) {
				n := int(t.Shares >> (16 * protocol) & math.MaxUint16)
				*s.ports(protocol) += n
				count -= n
			}
			s.Sessions += count
			list[address] = s
		}
	})
	return list, err
}

// Remotes lists the remote addresses that have sessions from outside open, and how many.
func (d *sessionTable) Remotes() (map[netip.Addr]int, error) {
	list := map[netip.Addr]int{}
	err := ForAll(d.objects.RemoteTable, func(_ uint32, bucket *bpfTallyBucket) {
		for _, t := range bucket.Tally {
			if count := int(t.Uses >> 32); count > 0 {
				list[addressOf(uint32(t.Uses))] += count
			}
		}
	})
	return list, err
}
