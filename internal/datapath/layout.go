package datapath

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math/bits"
	"net/netip"
	"runtime"
	"slices"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"
)

// indexLoad is the share of an index's slots in use when the table behind
// it is full. Simulated with two choices and the threshold of index.h: no
// insert of two million failed at 0.81, 8 at 0.84.
const indexLoad = 0.8

const ownerEntries = 4 // of a host that has an address alone: two ways, two generations

func buckets(entries int) uint32 {
	return uint32(float64(entries)/(indexSlots*indexLoad)) + 1
}

// powerWithin is the greatest power of two that is not above n, within two others.
func powerWithin(n, least, most int) uint32 {
	n = min(max(n, least), most)
	return 1 << (bits.Len(uint(n)) - 1)
}

// newLayout computes sizes and draws the secrets for the options.
func newLayout(o *Options) bpfLayout {
	slots := o.Slots * protocols * ports
	layout := bpfLayout{
		Capacity: uint32(o.Capacity),
		Reserve:  uint32(o.Reserve),
		// A session stands in its index twice: inside tuple, and outside tuple
		// or filter entry.
		SessionBuckets:     buckets(2 * o.Capacity),
		SessionBits:        uint32(bits.Len(uint(o.Capacity))),
		MappingBuckets:     buckets(min(o.Capacity, slots)),
		MappingBits:        uint32(bits.Len(uint(slots))),
		ReservationBuckets: buckets(o.Reservations),
		ReservationBits:    uint32(bits.Len(uint(o.Reservations))),
		Bindings:           uint32(o.Bindings),
		Ring:               powerWithin(o.Capacity/16/o.Bindings, 8, 256),
		Queue:              powerWithin(2*o.Reservations/o.Bindings-1, 16, 4096),
		BoundBuckets:       buckets(o.BoundPorts),
		BoundBits:          uint32(bits.Len(uint(o.BoundPorts))),
		KnownBuckets:       uint32(max(1, o.Known/knownWays)),
		SubscriberBuckets:  uint32(max(1, o.Subscribers/tallyWays)),
		RemoteBuckets:      uint32(max(1, o.Remotes/tallyWays)),
		Slots:              uint32(o.Slots),
		Groups:             uint32(max(1, len(o.Outbound))),
	}
	// Elsewhere another CPU may see that an event is written before what is in it; and a packet's program may break in on the sweep.
	if runtime.GOARCH == "amd64" && runsUndisturbed() {
		layout.Rows = 1
	}
	layout.Seed, layout.SynCookieKey = secret(), secret()
	return layout
}

func secret() (words [2]uint64) {
	var octets [16]byte
	if _, err := rand.Read(octets[:]); err != nil {
		panic(fmt.Sprintf("no random numbers: %v", err))
	}
	for i := range words {
		words[i] = binary.NativeEndian.Uint64(octets[8*i:])
	}
	return words
}

// tableSizes are the entries of the tables whose sizes a layout and the options say.
func tableSizes(layout *bpfLayout, o *Options) map[string]uint32 {
	arrays := layout.Slots * protocols
	return map[string]uint32{
		"session_table":     layout.Capacity + 1,
		"session_bitmap":    layout.Capacity/64 + 1,
		"session_index":     layout.SessionBuckets,
		"mapping_table":     arrays * ports / mappingBlock,
		"mapping_index":     layout.MappingBuckets,
		"port_bitmaps":      arrays,
		"reservation_table": uint32(o.Reservations) + 1,
		"reservation_index": layout.ReservationBuckets,
		"reservation_queue": (layout.Bindings + 1) * layout.Queue,
		"binding_table":     layout.Bindings + 1,
		"bound_port_table":  uint32(o.BoundPorts) + 1,
		"bound_port_index":  layout.BoundBuckets,
		"tentative_table":   (layout.Bindings + 1) * layout.Ring,
		"known_table":       layout.KnownBuckets * knownWays,
		"subscriber_table":  layout.SubscriberBuckets,
		"remote_table":      layout.RemoteBuckets,
		"address_table":     uint32(o.Addresses),
		"service_table":     uint32(o.Services),
		"lent_names":        uint32(o.Names),
		"owner_table":       ownerEntries * uint32(o.Owners),
		"flow_rows":         uint32(ebpf.MustPossibleCPU()),
		"pact_table":        uint32(o.Pacts) + 1,
		"link_table":        uint32(o.Links) + 1,
		"link_counts":       uint32(o.Links) + 1,
	}
}

// applyLayout writes the sizes into the collection's specification.
func applyLayout(spec *ebpf.CollectionSpec, layout *bpfLayout, o *Options) error {
	for name, entries := range tableSizes(layout, o) {
		spec.Maps[name].MaxEntries = entries
	}
	return spec.Variables["fixed"].Set(layout)
}

// shapeOf is a hash over names, kinds, sizes and members of all pinned tables:
// two data planes with the same shape can take over each other's tables.
func shapeOf(spec *ebpf.CollectionSpec) uint64 {
	hash := fnv.New64a()
	fmt.Fprintln(hash, "buckets", 4, uint32(bpfRecordBucketBUCKET_RECORDS), "known_life", "stamp", "tcp", "others", "mapping users", mappingInbound, "origins", len(origins)) // what no size tells
	names := make([]string, 0, len(spec.Maps))
	for name := range spec.Maps {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		m := spec.Maps[name]
		fmt.Fprintln(hash, name, m.Type, m.KeySize, m.ValueSize, m.MaxEntries, m.Flags)
		if s, ok := btf.UnderlyingType(m.Value).(*btf.Struct); ok {
			for _, member := range s.Members {
				fmt.Fprintln(hash, member.Name, member.Offset)
			}
		}
	}
	return hash.Sum64()
}

// networkOrder returns the address as the programs see it in memory.
func networkOrder(a netip.Addr) uint32 {
	b := a.As4()
	return binary.NativeEndian.Uint32(b[:])
}

func addressOf(word uint32) netip.Addr {
	var b [4]byte
	binary.NativeEndian.PutUint32(b[:], word)
	return netip.AddrFrom4(b)
}

// swap turns a port between network and host byte order.
func swap(port uint16) uint16 { return bits.ReverseBytes16(port) }

// hostOrder returns the address as a number.
func hostOrder(a netip.Addr) uint32 {
	b := a.As4()
	return binary.BigEndian.Uint32(b[:])
}
