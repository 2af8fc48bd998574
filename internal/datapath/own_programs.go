package datapath

import "github.com/cilium/ebpf"

// IsOurs reports whether a program of the kernel, by its number, is one that this data plane attaches.
func (d *filterSet) IsOurs(program uint32) bool {
	f := d.forms[XDP]
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if f.entries == nil {
		return false
	}
	for _, p := range []*ebpf.Program{f.entries.sides.Public, f.entries.sides.Private, f.entries.single()} {
		if p == nil {
			continue // see always
		}
		info, err := p.Info()
		if err != nil {
			continue
		}
		if id, ok := info.ID(); ok && uint32(id) == program {
			return true
		}
	}
	return false
}
