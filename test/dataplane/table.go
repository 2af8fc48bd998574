package dataplane

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"net/netip"
	"unsafe"

	"github.com/cilium/ebpf"

	"github.com/realmgate/realmgate/internal/datapath"
)

// tables are those of a data plane by their names.
type tables struct {
	of     map[string]*ebpf.Map
	layout typesLayout
}

func tablesOf(d *datapath.Datapath) (*tables, error) {
	t := &tables{of: d.Tables()}
	if err := t.of["layout_table"].Lookup(uint32(0), &t.layout); err != nil {
		return nil, fmt.Errorf("read the layout: %w", err)
	}
	return t, nil
}

// forAll calls visit for a copy of each record of an array.
func forAll[T any](t *tables, name string, visit func(number uint32, record *T)) error {
	table := t.of[name]
	memory, err := table.Memory()
	if err != nil {
		return fmt.Errorf("map %s into memory: %w", name, err)
	}
	var record T
	size := int(unsafe.Sizeof(record))
	bytes := make([]byte, 1<<16/size*size)
	for first := 0; first < int(table.MaxEntries()); first += len(bytes) / size {
		count := min(len(bytes)/size, int(table.MaxEntries())-first)
		if _, err := memory.ReadAt(bytes[:count*size], int64(first*size)); err != nil {
			return fmt.Errorf("read %s: %w", name, err)
		}
		for i := range count {
			record = *(*T)(unsafe.Pointer(&bytes[i*size]))
			visit(uint32(first+i), &record)
		}
	}
	return nil
}

// forEach is forAll but for record 0, which no table uses that is found by an index.
func forEach[T any](t *tables, name string, visit func(number uint32, record *T)) error {
	return forAll(t, name, func(number uint32, record *T) {
		if number > 0 {
			visit(number, record)
		}
	})
}

// each is forAll for an array that cannot be mapped into memory.
func each[T any](t *tables, name string, visit func(number uint32, record *T)) error {
	var key uint32
	var record T
	entries := t.of[name].Iterate()
	for entries.Next(&key, &record) {
		visit(key, &record)
	}
	if err := entries.Err(); err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	return nil
}

func endpointOf(word uint64) typesEndpoint   { return *(*typesEndpoint)(unsafe.Pointer(&word)) }
func knownLifeOf(word uint64) typesKnownLife { return *(*typesKnownLife)(unsafe.Pointer(&word)) }

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

// knownKey is known_key of bpf/pool/known.h.
func knownKey(client netip.Addr, number uint32) uint64 {
	key := struct{ client, number uint32 }{networkOrder(client), number}
	return *(*uint64)(unsafe.Pointer(&key))
}
