package config

import (
	"net/netip"
	"time"

	"github.com/realmgate/realmgate/internal/model"
)

// Config is one complete, validated configuration.
type Config struct {
	Interfaces Interfaces
	Realm      Realm
	DNS        DNS
	Pool       Pool
	Outbound   Outbound
	Timeouts   Timeouts
	Capacity   int // sessions, 1024 to 64000000
	IPv6       IPv6
	Hosts      []Host         // in the order of the file
	NeverBan   []netip.Prefix // IPv4 and IPv6
	Bans       Bans
	Sets       []Set
	Watches    []Watch
	Lists      []List
	Events     []Sink // where events go
	Protection Protection
	Chains     []Chain // as Hosts; the first that matches a flow judges it
}

// Interfaces names the network interfaces of each side. Both lists hold at
// least one name and no name is in them twice.
type Interfaces struct {
	Public, Private []string
}

// Realm is what the gateway is authoritative for.
type Realm struct {
	Zones      []model.Name // at least one, no duplicates; one may lie in another
	Nameserver model.Name   // in a zone, or outside all of them
}

// DNS says where the name servers listen and whom they ask.
type DNS struct {
	Public, Private netip.AddrPort   // IPv4, of different addresses
	Upstream        []netip.AddrPort // IPv4; empty: other names are refused
	Verify          Verify
	Cache           int // answers kept by the inside resolver, 0 to 1000000
}

// Pool configures the circular pool.
type Pool struct {
	Addresses  []netip.Addr // 1 to 65536, expanded, in the order of the file
	Order      Order
	Offer      time.Duration // 500ms to 60s
	Again      time.Duration // 0s to 60s
	Quarantine time.Duration // 0s to 60s
	Claim      time.Duration // 1s to 240s
	Wait       time.Duration // 0s to 5s
	Quotas     Quotas
}

// Quotas bounds allocations: Client to Total count allocations per second,
// HalfOpen and HalfOpenPerHost count standing offers. 0 means no limit.
type Quotas struct {
	Client, Resolver, Host, Service, Total int
	HalfOpen, HalfOpenPerHost              int
}

// Outbound configures translation for hosts that open sessions themselves.
type Outbound struct {
	Addresses  []netip.Addr // at most 64; empty: the first public interface's first IPv4 address
	Filtering  model.Filtering
	Quarantine time.Duration // 0s to 3600s: how long a freed port rests (RFC 6888 REQ-8)
}

// Timeouts says how long a session may idle, each 1s to 2592000s.
type Timeouts struct {
	TCPEstablished, TCPTransitory, UDP, ICMP time.Duration
}

// Host is a machine of the private realm that can be reached by name.
type Host struct {
	Name     model.Name // in a zone, unique among hosts and services
	Address  netip.Addr // IPv4, unique
	Services []Service
}

// Service is a name that stands for one protocol and port of its host. Two
// services may share protocol and port only when they also share To.
type Service struct {
	Name     model.Name
	Protocol model.Protocol // TCP or UDP
	Port, To uint16         // outside and inside port, 1 to 65535
	Again    *time.Duration // 0s to 60s; nil: Pool.Again
}
