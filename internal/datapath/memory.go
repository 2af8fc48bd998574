package datapath

import (
	"fmt"
	"unsafe"

	"github.com/cilium/ebpf"
)

func sizeOf[T any](T) int {
	var zero T
	return int(unsafe.Sizeof(zero))
}

func claimsOf(word uint64) bpfClaims { return *(*bpfClaims)(unsafe.Pointer(&word)) }

// chunkBytes is how much of a table is copied at a time.
const chunkBytes = 1 << 16

// ForEach reads a table of the kernel that can be mapped into memory and calls
// visit for each of its records but record 0, which no table uses that is found by an index.
// The record is a copy; it may be torn by a packet that changed it meanwhile, which is why
// sessions carry a version.
func ForEach[T any](table *ebpf.Map, visit func(number uint32, record *T)) error {
	return ForAll(table, func(number uint32, record *T) {
		if number > 0 {
			visit(number, record)
		}
	})
}

// ForAll is ForEach with record 0.
func ForAll[T any](table *ebpf.Map, visit func(number uint32, record *T)) error {
	return forFrom(table, 0, func(number uint32, record *T) bool {
		visit(number, record)
		return true
	})
}

// forFrom calls visit for the records from begin on, until it returns false.
func forFrom[T any](table *ebpf.Map, begin int, visit func(number uint32, record *T) bool) error {
	memory, err := table.Memory()
	if err != nil {
		return fmt.Errorf("map table %s into memory: %w", table, err)
	}
	var zero T
	size := int(unsafe.Sizeof(zero))
	entries := int(table.MaxEntries())
	chunk := make([]T, max(1, min(chunkBytes/size, entries-begin)))
	bytes := unsafe.Slice((*byte)(unsafe.Pointer(&chunk[0])), len(chunk)*size)
	for first := begin; first < entries; first += len(chunk) {
		count := min(len(chunk), entries-first)
		if _, err := memory.ReadAt(bytes[:count*size], int64(first)*int64(size)); err != nil {
			return fmt.Errorf("read table %s: %w", table, err)
		}
		for i := range count {
			if !visit(uint32(first+i), &chunk[i]) {
				return nil
			}
		}
	}
	return nil
}

// sameUse reports whether the bytes of a session record, read later, are of the
// same use of the record.
func sameUse(s *bpfSession, later []byte) bool {
	l := (*bpfSession)(unsafe.Pointer(&later[0]))
	return l.Life.As.Version == s.Life.As.Version && l.Life.As.Phase == s.Life.As.Phase && l.PrivateAddress == s.PrivateAddress &&
		l.PrivatePort == s.PrivatePort && l.RemoteAddress == s.RemoteAddress && l.RemotePort == s.RemotePort
}

func endpointOf(word uint64) bpfEndpoint { return *(*bpfEndpoint)(unsafe.Pointer(&word)) }
