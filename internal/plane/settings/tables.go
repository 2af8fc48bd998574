package settings

import (
	"time"

	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/schema"
)

// Tables are what the data plane keeps sessions by.
type Tables struct {
	Timeouts Timeouts
	Limits   Limits
	Capacity int // sessions, 1024 to 64000000
	IPv6     IPv6
	MSS      model.MSS // of SYNs that pass
}

// Timeouts says how long a session may idle, each 1s to 2592000s.
type Timeouts struct {
	TCPEstablished, TCPTransitory, UDP, UDPUnanswered, DNS, ICMP, Others time.Duration
}

// IPv6 says what becomes of IPv6 packets that are not for the gateway itself.
type IPv6 uint8

// What can become of IPv6 packets.
const (
	IPv6Drop    IPv6 = iota
	IPv6Forward      // left to the kernel's stack
)

// String returns the word used in the file.
func (v IPv6) String() string { return schema.Word(int(v), "ipv6", "drop", "forward") }

// Forwards reports whether they are left to the kernel's stack.
func (v IPv6) Forwards() bool { return v == IPv6Forward }

// longestIdle bounds timeouts.
const longestIdle = 30 * 24 * time.Hour

// TablesDraft is `timeouts`, `limits`, `capacity`, `ipv6` and `mss`.
type TablesDraft struct{ tables *Tables }

// NewTables makes a draft whose values go to tables.
func NewTables(tables *Tables) *TablesDraft {
	*tables = Tables{
		Timeouts: Timeouts{
			TCPEstablished: 7440 * time.Second, // RFC 5382 REQ-5: at least 2 h 4 min
			TCPTransitory:  240 * time.Second,  // RFC 5382 REQ-5: at least 4 min
			UDP:            300 * time.Second,  // RFC 4787 REQ-5: recommended
			UDPUnanswered:  30 * time.Second,
			DNS:            6 * time.Second,   // RFC 4787 REQ-5a: longer than stub resolvers wait for an answer (5 s)
			ICMP:           60 * time.Second,  // RFC 5508 REQ-2: at least 60 s
			Others:         600 * time.Second, // as netfilter's generic timeout
		},
		Limits:   defaultLimits,
		Capacity: 1_000_000,
		IPv6:     IPv6Drop,
	}
	return &TablesDraft{tables}
}

// Keys implements schema.Draft.
func (d *TablesDraft) Keys() []schema.Key {
	t := d.tables
	idle := schema.Duration(time.Second, longestIdle)
	return []schema.Key{
		schema.Section(
			"timeouts",
			schema.One("tcp_established", &t.Timeouts.TCPEstablished, idle),
			schema.One("tcp_transitory", &t.Timeouts.TCPTransitory, idle),
			schema.One("udp", &t.Timeouts.UDP, idle),
			schema.One("udp_unanswered", &t.Timeouts.UDPUnanswered, idle),
			schema.One("dns", &t.Timeouts.DNS, idle),
			schema.One("icmp", &t.Timeouts.ICMP, idle),
			schema.One("others", &t.Timeouts.Others, idle),
		),
		t.Limits.key(),
		schema.One("capacity", &t.Capacity, schema.Number(model.MinCapacity, model.MaxCapacity)),
		schema.One("ipv6", &t.IPv6, schema.Choice(IPv6Drop, IPv6Forward)),
		schema.One("mss", &t.MSS, mss()),
	}
}

// Finish implements schema.Draft.
func (d *TablesDraft) Finish(*schema.Faults) { d.tables.Limits.of(d.tables.Capacity) }
