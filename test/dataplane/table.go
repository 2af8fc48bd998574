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
	d      *datapath.Datapath
	of     map[string]*ebpf.Map
	layout typesLayout
}

func tablesOf(d *datapath.Datapath) (*tables, error) {
	t := &tables{d: d, of: d.Tables()}
	if err := t.of["layout_table"].Lookup(uint32(0), &t.layout); err != nil {
		return nil, fmt.Errorf("read the layout: %w", err)
	}
	return t, nil
}

// each is datapath.ForAll for an array that cannot be mapped into memory.
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
