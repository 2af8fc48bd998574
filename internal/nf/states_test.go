package nf

import (
	"testing"

	"github.com/cilium/ebpf"
)

// A generation keeps the tables that it uses, and who only looks keeps none.
func TestStatesKeepWhatIsUsed(t *testing.T) {
	t.Parallel()
	newBed(t) // needs root, too
	var s States
	spec := &ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: 4, MaxEntries: 1}
	table := func(s *States, get func(*States, string, *ebpf.MapSpec) (*ebpf.Map, error), name string) *ebpf.Map {
		t.Helper()
		m, err := get(s, name, spec)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	a, b := table(&s, (*States).Table, "a"), table(&s, (*States).Written, "b")
	s.Keep()
	look := s.Look()
	if table(look, (*States).Table, "a") != a || table(look, (*States).Written, "b") == b {
		t.Error("who looks sees what is remembered, and writes elsewhere")
	}
	look.Forget()
	if len(s.inForce) != 2 || s.next != nil {
		t.Errorf("looking left %d tables, and %d for the next generation", len(s.inForce), len(s.next))
	}
	if table(&s, (*States).Table, "b") != b {
		t.Error("b is another")
	}
	s.Keep()
	if len(s.inForce) != 1 {
		t.Errorf("%d tables are kept, want one", len(s.inForce))
	}
	table(&s, (*States).Table, "b")
	table(&s, (*States).Table, "c")
	s.Forget()
	if len(s.inForce) != 1 || s.next != nil {
		t.Errorf("%d tables are kept, and %d for the next generation", len(s.inForce), len(s.next))
	}
}
