package datapath

import (
	"testing"

	"github.com/cilium/ebpf"

	"github.com/realmgate/realmgate/internal/lab/planes"
)

// entered are the IDs of the programs that packets enter by tail call.
func (g *gateway) entered() []uint32 {
	g.t.Helper()
	var ids []uint32
	programs := g.table(map[string]string{"xdp": "programs", "tcx": "tcx_programs"}[*modeFlag])
	for key := range programs.MaxEntries() {
		var id uint32
		if err := programs.Lookup(key, &id); err == nil {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		g.t.Fatal("there are none")
	}
	return ids
}

// The next daemon of the same build has the kernel verify nothing, and one of another build all.
func TestProgramsAreAdopted(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	load := func() { _, _, _ = g.inject(false, g.private, nil) }
	first := g.entered()
	g.reopen()
	load()
	same(g, "programs of the same build", len(g.entered()), len(first))
	for i, id := range g.entered() {
		same(g, "the program", id, first[i])
	}
	g.anotherBuild()
	g.reopen()
	load()
	second := g.entered()
	for i, id := range second {
		if id == first[i] {
			t.Errorf("program %d is another build's", id)
		}
	}
	g.reopen()
	load()
	for i, id := range g.entered() {
		same(g, "the program", id, second[i])
	}
	g.lend(pool1, 80, service, nil)
	g.visits(client)
}

// anotherBuild has the layout say that the programs were built otherwise.
func (g *gateway) anotherBuild() {
	g.t.Helper()
	layout := g.table("layout_table")
	raw := must(layout.LookupBytes(uint32(0)))(g.t)
	raw[must(planes.Member(layout, "layout", "build"))(g.t)]++
	check(g.t, layout.Update(uint32(0), raw, ebpf.UpdateExist))
}
