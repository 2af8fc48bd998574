package settings

import (
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/schema"
)

// Tables are what the data plane keeps sessions by.
type Tables struct {
	Timeouts model.Timeouts // each 1s to 2592000s
	Limits   Limits
	Capacity int // sessions, 1024 to 64000000
	IPv6     IPv6
	MSS      model.MSS // of SYNs that pass
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

// TablesDraft is `timeouts`, `limits`, `capacity`, `ipv6` and `mss`.
type TablesDraft struct{ tables *Tables }

// NewTables makes a draft whose values go to tables.
func NewTables(tables *Tables) *TablesDraft {
	*tables = Tables{
		Timeouts: defaultTimeouts(),
		Limits:   defaultLimits,
		Capacity: 1_000_000,
		IPv6:     IPv6Drop,
	}
	return &TablesDraft{tables}
}

// Keys implements schema.Draft.
func (d *TablesDraft) Keys() []schema.Key {
	t := d.tables
	return []schema.Key{
		timeoutKeys(&t.Timeouts),
		t.Limits.key(),
		schema.One("capacity", &t.Capacity, schema.Number(model.MinCapacity, model.MaxCapacity)),
		schema.One("ipv6", &t.IPv6, schema.Choice(IPv6Drop, IPv6Forward)),
		schema.One("mss", &t.MSS, mss()),
	}
}

// Finish implements schema.Draft.
func (d *TablesDraft) Finish(*schema.Faults) { d.tables.Limits.of(d.tables.Capacity) }
