package datapath

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"

	"github.com/realmgate/realmgate/internal/model"
)

// enumNames returns the names of a C enum by value, in lower case and without
// the prefix.
func enumNames(spec *ebpf.CollectionSpec, name, prefix string) []string {
	var enum *btf.Enum
	if err := spec.Types.TypeByName(name, &enum); err != nil {
		panic("the compiled programs lack enum " + name) // built from the same source
	}
	names := make([]string, len(enum.Values))
	for _, v := range enum.Values {
		names[v.Value] = strings.ToLower(strings.TrimPrefix(v.Name, prefix))
	}
	return names
}

// Reasons lists every reason in the order of its number, without the first,
// "none", and the last, "max".
func (d *core) Reasons() []model.Reason {
	list := make([]model.Reason, 0, len(d.reasons))
	for _, name := range d.reasons[1 : len(d.reasons)-1] {
		list = append(list, model.Reason(name))
	}
	return list
}

// Counters returns how many packets ended with each reason.
func (d *core) Counters() (map[model.Reason]uint64, error) {
	sums, err := sumsOf(d.objects.ReasonCounters)
	if err != nil {
		return nil, err
	}
	counts := make(map[model.Reason]uint64, len(d.reasons))
	for number := 1; number < len(d.reasons)-1; number++ {
		counts[model.Reason(d.reasons[number])] = sums[number]
	}
	return counts, nil
}

// sumsOf are the counters of a table, each of all CPUs, by one system call.
func sumsOf(table *ebpf.Map) ([]uint64, error) {
	cpus, err := ebpf.PossibleCPU()
	if err != nil {
		return nil, fmt.Errorf("count the CPUs: %w", err)
	}
	keys := make([]uint32, table.MaxEntries())
	perCPU := make([]uint64, len(keys)*cpus)
	if _, err := table.BatchLookup(&ebpf.MapBatchCursor{}, keys, perCPU, nil); err != nil && !errors.Is(err, ebpf.ErrKeyNotExist) { // it was all
		return nil, fmt.Errorf("read the counters of %s: %w", table, err)
	}
	sums := make([]uint64, len(keys))
	for i := range perCPU {
		sums[keys[i/cpus]] += perCPU[i]
	}
	return sums, nil
}

// Usage says how full the tables are.
type Usage struct {
	Sessions   uint64 `json:"sessions"`
	Opened     uint64 `json:"opened"` // sessions, ever
	Closed     uint64 `json:"closed"` // sessions, ever
	Capacity   uint64 `json:"capacity"`
	Mappings   uint64 `json:"mappings"`
	Claims     uint64 `json:"claims"`      // ever
	EventsLost uint64 `json:"events_lost"` // ever
	ICMPErrors uint64 `json:"icmp_errors"` // sent, ever
	Refusals   uint64 `json:"refusals"`    // RST and port unreachable sent, ever
	// Overflowed are SYNs to the pool that were answered by cookies, as their binding had no place for further
	// sessions whose clients had proved nothing; KnownFull are clients that were not made known, as
	// there was no place. Ever.
	Overflowed uint64 `json:"overflowed"`
	KnownFull  uint64 `json:"known_full"`
	// SubscribersFull are sessions that were counted with no host inside, as there was no place,
	// RemotesFull those with no remote address. Ever.
	SubscribersFull uint64 `json:"subscribers_full"`
	RemotesFull     uint64 `json:"remotes_full"`
	Reservations    uint64 `json:"reservations_capacity"`
	Bindings        uint64 `json:"bindings_capacity"`
	BoundPorts      uint64 `json:"bound_ports_capacity"`
	Known           uint64 `json:"known_capacity"`
	// Bytes is the memory of all tables, as the kernel accounts for it.
	Bytes uint64 `json:"bytes"`
	// AddressBytes is the part of it that counts what hosts inside and remote addresses have.
	AddressBytes uint64 `json:"address_bytes"`
	// FragmentBytes is the part of it that packets in fragments take.
	FragmentBytes uint64 `json:"fragment_bytes"`
}

// Usage counts what is in use.
func (d *core) Usage() (Usage, error) {
	sums, err := sumsOf(d.objects.Statistics)
	if err != nil {
		return Usage{}, err
	}
	bytes, err := d.Memory()
	if err != nil {
		return Usage{}, err
	}
	addresses, err := memoryOf(d.objects.SubscriberTable, d.objects.RemoteTable, d.objects.LedTable)
	if err != nil {
		return Usage{}, err
	}
	fragments, err := memoryOf(d.fragmentTables()...)
	opened, closed := sums[bpfStatisticSTATISTIC_SESSIONS_OPENED], sums[bpfStatisticSTATISTIC_SESSIONS_FREED]
	return Usage{
		Sessions: opened - closed, Opened: opened, Closed: closed,
		Capacity: uint64(d.layout.Capacity),
		Mappings: sums[bpfStatisticSTATISTIC_MAPPINGS_OPENED] - sums[bpfStatisticSTATISTIC_MAPPINGS_FREED],
		Claims:   sums[bpfStatisticSTATISTIC_CLAIMS], EventsLost: sums[bpfStatisticSTATISTIC_EVENTS_LOST],
		ICMPErrors: sums[bpfStatisticSTATISTIC_ICMP_ERRORS_SENT], Refusals: sums[bpfStatisticSTATISTIC_REFUSALS_SENT],
		Overflowed: sums[bpfStatisticSTATISTIC_OVERFLOWED], KnownFull: sums[bpfStatisticSTATISTIC_KNOWN_FULL],
		SubscribersFull: sums[bpfStatisticSTATISTIC_SUBSCRIBERS_FULL], RemotesFull: sums[bpfStatisticSTATISTIC_REMOTES_FULL],
		Reservations: uint64(d.options.Reservations), Bindings: uint64(d.options.Bindings), BoundPorts: uint64(d.options.BoundPorts),
		Known: uint64(d.layout.KnownBuckets * knownWays),
		Bytes: bytes, AddressBytes: addresses, FragmentBytes: fragments,
	}, err
}

// Memory is the size of all tables in bytes, as the kernel accounts for it.
func (d *core) Memory() (uint64, error) {
	return memoryOf(slices.Collect(maps.Values(d.Tables()))...)
}

func memoryOf(tables ...*ebpf.Map) (uint64, error) {
	var sum uint64
	for _, table := range tables {
		info, err := table.Info()
		if err != nil {
			return 0, fmt.Errorf("ask for the size of %s: %w", table, err)
		}
		bytes, ok := info.Memlock()
		if !ok && table.Type() != ebpf.LPMTrie { // which is nothing while it is empty
			return 0, fmt.Errorf("the kernel does not tell the size of %s", table)
		}
		sum += bytes
	}
	return sum, nil
}
