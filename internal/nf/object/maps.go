package object

import (
	"errors"
	"fmt"
	"slices"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/btf"

	"github.com/realmgate/realmgate/internal/nf"
)

// mostMemory bounds the maps of an object, in bytes.
const mostMemory = 64 << 20

// mapTypes are those that an object may have, and what the kernel adds to an entry, in
// bytes and not less than it does.
var mapTypes = map[ebpf.MapType]struct {
	each   uint64
	perCPU bool
}{
	ebpf.Array: {}, ebpf.PerCPUArray: {each: 8, perCPU: true}, ebpf.Hash: {each: 64}, ebpf.PerCPUHash: {each: 64, perCPU: true},
	ebpf.LRUHash: {each: 80}, ebpf.LRUCPUHash: {each: 80, perCPU: true}, ebpf.LPMTrie: {each: 64}, ebpf.Queue: {}, ebpf.Stack: {},
	ebpf.BloomFilter: {each: 8}, ebpf.RingBuf: {each: 1}, ebpf.PerfEventArray: {},
}

// ownMaps are the maps that an object uses and that are not the gateway's.
func ownMaps(spec *ebpf.CollectionSpec, list asm.Instructions) (map[string]*ebpf.MapSpec, error) {
	used := map[string]*ebpf.MapSpec{}
	var total uint64
	for _, ins := range list {
		name := ins.Reference()
		m := spec.Maps[name]
		switch {
		case used[name] != nil:
		case m == nil && name == "" && ins.IsLoadFromMap():
			return nil, errors.New("it needs the kernel's configuration (__kconfig), which no function may")
		case m == nil && (ins.IsLoadFromMap() || name != "" && ins.IsConstantLoad(asm.DWord)):
			return nil, fmt.Errorf("it needs %s of the kernel, which no function may", name)
		case m == nil:
		case nf.IsShared(name):
			if err := checkInterface(m); err != nil {
				return nil, err
			}
		default:
			size, err := sizeOf(m)
			if err != nil {
				return nil, fmt.Errorf("its map %s %w", name, err)
			}
			used[name], total = m, min(total+size, 1<<63)
		}
	}
	if total > mostMemory {
		return nil, fmt.Errorf("its maps take %d MiB: at most %d", (total+1<<20-1)>>20, mostMemory>>20)
	}
	if len(used) > nf.MostMaps {
		return nil, fmt.Errorf("it has %d maps: at most %d", len(used), nf.MostMaps)
	}
	return used, nil
}

// sizeOf is what a map takes, and not less.
func sizeOf(m *ebpf.MapSpec) (uint64, error) {
	kind, known := mapTypes[m.Type]
	switch {
	case !known:
		return 0, fmt.Errorf("is of a type that functions may not have (%s)", m.Type)
	case m.Pinning != ebpf.PinNone:
		return 0, errors.New("is pinned: the gateway keeps it, take LIBBPF_PIN_BY_NAME out")
	case m.Type == ebpf.PerfEventArray: // one a CPU, whatever it says
	case m.MaxEntries == 0:
		return 0, errors.New("has no max_entries")
	}
	round := func(n uint32) uint64 { return (uint64(n) + 7) &^ 7 }
	value := round(m.ValueSize)
	if kind.perCPU {
		value *= uint64(ebpf.MustPossibleCPU())
	}
	entry := round(m.KeySize) + value + kind.each
	return min(entry, mostMemory+1) * uint64(m.MaxEntries), nil
}

// checkInterface wants a map of ours to be what it is here: an object of another version
// of bpf/include/nf.h would take one thing for another.
func checkInterface(m *ebpf.MapSpec) error {
	ours, err := nf.SharedMap(m.Name)
	if err != nil {
		return err
	}
	old := fmt.Errorf("its %s is not this version's: build it anew with this version's nf.h", m.Name)
	if m.Type != ours.Type || m.KeySize != ours.KeySize || m.MaxEntries != ours.MaxEntries || m.ValueSize > ours.ValueSize {
		return old
	}
	theirs, ok := btf.UnderlyingType(m.Value).(*btf.Struct)
	if !ok {
		return old
	}
	members := btf.UnderlyingType(ours.Value).(*btf.Struct).Members
	for _, member := range theirs.Members {
		same := func(o btf.Member) bool {
			size, err := btf.Sizeof(member.Type)
			known, ourErr := btf.Sizeof(o.Type)
			return o.Name == member.Name && o.Offset == member.Offset && err == nil && ourErr == nil && size == known
		}
		if !slices.ContainsFunc(members, same) {
			return old
		}
	}
	return nil
}
