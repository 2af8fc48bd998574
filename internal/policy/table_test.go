package policy

import "testing"

func TestTableForgetsTheOneIdleLongest(t *testing.T) {
	table := newTable[string, int](3)
	for _, k := range []string{"a", "b", "c", "a", "d"} {
		v, _ := table.use(k)
		*v++
	}
	// d took b's place.
	for k, want := range map[string]int{"a": 2, "b": 0, "c": 1, "d": 1} {
		got := 0
		if v := table.get(k); v != nil {
			got = *v
		}
		if got != want {
			t.Errorf("%s: %d, want %d", k, got, want)
		}
	}
	if v, fresh := table.use("b"); !fresh || *v != 0 || len(table.nodes) != 3 || len(table.index) != 3 {
		t.Errorf("b came back with %d, fresh %v, among %d", *v, fresh, len(table.index))
	}
}

func TestTableRemoves(t *testing.T) {
	table := newTable[int, int](4)
	for k := range 4 {
		table.use(k)
	}
	for _, k := range []int{3, 0, 2} { // the newest, the oldest, one between
		if !table.remove(k) || table.remove(k) || table.get(k) != nil {
			t.Errorf("%d was not removed once", k)
		}
	}
	for k := 10; k < 14; k++ {
		table.use(k)
	}
	if len(table.nodes) != 4 || len(table.index) != 4 || table.get(1) != nil || table.nodes[table.oldest].key != 10 {
		t.Errorf("%d nodes, %d keys, oldest %d", len(table.nodes), len(table.index), table.nodes[table.oldest].key)
	}
}
