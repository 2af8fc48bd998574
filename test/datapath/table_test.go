package datapath

import (
	"path/filepath"

	"github.com/cilium/ebpf"

	"github.com/realmgate/realmgate/internal/mounts"
)

// table opens one of the gateway's tables.
func (g *gateway) table(name string) *ebpf.Map {
	g.t.Helper()
	outer, _ := mounts.Outer()
	root := must(mounts.Path(outer, "/sys/fs/bpf"))(g.t)
	table := must(ebpf.LoadPinnedMap(filepath.Join(root, "realmgate", g.instance, name), nil))(g.t)
	g.t.Cleanup(func() { _ = table.Close() })
	return table
}
