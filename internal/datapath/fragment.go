package datapath

import "github.com/cilium/ebpf"

// fragmentTables are those that packets in fragments need; their sizes are fixed.
func (d *core) fragmentTables() []*ebpf.Map {
	o := &d.objects
	return []*ebpf.Map{o.FragmentContexts, o.FragmentOctets, o.Identifications, o.FragmentHolds, o.HeldFragments, o.RemotesSeen}
}
