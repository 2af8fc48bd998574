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
