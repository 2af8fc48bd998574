package packages

import (
	"encoding/binary"

	"github.com/cilium/ebpf"
)

// otherLayout has the tables of the gateway say that another version has laid them out, until they are put back.
func (s *story) otherLayout() (put func()) {
	s.t.Helper()
	table, err := ebpf.LoadPinnedMap(s.root+"/sys/fs/bpf/realmgate/default/layout_table", nil)
	if err != nil {
		s.t.Fatal(err)
	}
	raw, err := table.LookupBytes(uint32(0))
	if err != nil {
		s.t.Fatal(err)
	}
	const shape = 16 // octets: where struct layout has it
	change := func(by uint64) {
		s.t.Helper()
		binary.NativeEndian.PutUint64(raw[shape:], by+binary.NativeEndian.Uint64(raw[shape:]))
		if err := table.Put(uint32(0), raw); err != nil {
			s.t.Fatal(err)
		}
	}
	change(1)
	return func() {
		change(^uint64(0))
		_ = table.Close() // it was only a descriptor
	}
}
