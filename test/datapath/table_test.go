package datapath

import (
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"

	"github.com/cilium/ebpf"

	"github.com/realmgate/realmgate/internal/mounts"
)

// pins numbers the gateways of this process that pin their tables.
var pins atomic.Uint64

// pinned pins the tables, so that a test can open them with table.
func pinned(s *setup) { s.Instance = fmt.Sprintf("test-%d-%d", os.Getpid(), pins.Add(1)) }

// table opens a table of a gateway that is pinned.
func (g *gateway) table(name string) *ebpf.Map {
	g.t.Helper()
	outer, _ := mounts.Outer()
	root := must(mounts.Path(outer, "/sys/fs/bpf"))(g.t)
	table := must(ebpf.LoadPinnedMap(filepath.Join(root, "realmgate", g.instance, name), nil))(g.t)
	g.t.Cleanup(func() { _ = table.Close() })
	return table
}
