package datapath

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/cilium/ebpf"
)

// mapsMost is how many tables the kernel lets one program name (MAX_USED_MAPS).
const mapsMost = 64

// tablesOf are the tables that a program names, each once.
func tablesOf(p *ebpf.ProgramSpec) []string {
	named := map[string]bool{}
	for _, ins := range p.Instructions {
		if ins.IsLoadFromMap() {
			named[ins.Reference()] = true
		}
	}
	return slices.Sorted(maps.Keys(named))
}

// namedBefore is how many tables programs named before there were edges.
var namedBefore = map[string]int{
	"xdp: gateway_private": 63, "xdp: gateway_public": 64, "xdp: gateway_hairpin": 64, "xdp: gateway_web": 63,
	"tcx: gateway_private": 55, "tcx: gateway_public": 56, "tcx: gateway_hairpin": 56, "tcx: gateway_web": 55,
}

// roomLeft is how many a program of edges leaves free.
const roomLeft = 4

// Edges take no table of the programs that every packet meets: those have as many as the kernel allows, or nearly.
func TestEdgeProgramsLeaveRoom(t *testing.T) {
	for form, load := range map[string]func() (*ebpf.CollectionSpec, error){"xdp": loadBpf, "tcx": loadTcx} {
		spec, err := load()
		if err != nil {
			t.Fatal(err)
		}
		for name, p := range spec.Programs {
			of, named := form+": "+name, len(tablesOf(p))
			if before, is := namedBefore[of]; is && named != before {
				t.Errorf("%s names %d tables, and has named %d", of, named, before)
			}
			if strings.HasPrefix(name, "gateway_edge_") && named > mapsMost-roomLeft {
				t.Errorf("%s names %d tables, of %d: %v", of, named, mapsMost, tablesOf(p))
			}
			t.Logf("%s: %d tables", of, named)
		}
	}
}
