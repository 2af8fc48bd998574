package datapath

import (
	"fmt"
	"slices"
	"testing"
)

// writes has a CPU write an event, as tell_placed does, where it has room.
func (r *flowRows) writes(cpu int, placed *uint64, at uint64) bool {
	row := r.rows[cpu]
	if *placed-row.Taken >= uint64(len(row.Event)) {
		return false
	}
	e := &row.Event[*placed%uint64(len(row.Event))]
	*placed++
	e.At, e.Told, e.Turn = at, uint16(bpfToldTOLD_MAPPING_BEGINS), uint32(*placed) //nolint:gosec // it is counted round
	return true
}

// What CPUs have written comes in the order in which it happened; what was written after the reader began to look waits, in its
// row and with the reader, as there may be more from before it.
func TestFlowsComeInOrder(t *testing.T) {
	t.Parallel()
	rows := &flowRows{rows: []*bpfFlowRow{{}, {}, {}}}
	var placed [3]uint64
	for n, cpu := range []int{0, 2, 2, 0, 1, 2, 0} {
		rows.writes(cpu, &placed[cpu], uint64(10*(n+1)))
	}
	var heard []uint64
	table := &flowTable{watches: []*Watch{{Mapping: func(e FlowEvent) { heard = append(heard, uint64(e.At)) }}}} //nolint:gosec // it is small
	reader := &flowReader{table: table, rows: rows, flows: []bpfFlowEvent{{At: 35, Told: uint16(bpfToldTOLD_MAPPING_ENDS)}, {At: 52, Told: uint16(bpfToldTOLD_MAPPING_ENDS)}}}
	for _, step := range []struct {
		until uint64
		want  []uint64
	}{{50, []uint64{10, 20, 30, 35, 40, 50}}, {51, nil}, {all, []uint64{52, 60, 70}}} {
		heard = nil
		reader.flows = rows.take(step.until, reader.flows)
		if came := reader.hand(step.until); !slices.Equal(heard, step.want) || came != (len(step.want) > 0) {
			t.Errorf("until %d came %v, %v, want %v", step.until, heard, came, step.want)
		}
	}
}

// Of what finds room in a row, each comes once, however often it goes round, and also where its count does.
func TestRowsGoRound(t *testing.T) {
	t.Parallel()
	for _, first := range []uint64{0, 1<<32 - 1500} {
		t.Run(fmt.Sprint(first), func(t *testing.T) {
			t.Parallel()
			row := &bpfFlowRow{Taken: first}
			rows, placed, want := &flowRows{rows: []*bpfFlowRow{row}}, first, uint64(0)
			for part := range 7 {
				full := false
				for range 700 * (1 + part%2) {
					if full = !rows.writes(0, &placed, want+1); !full {
						want++
					}
				}
				if full != (part%2 == 1) {
					t.Errorf("part %d: the row is full: %v", part, full)
				}
				taken := rows.take(all, nil)
				if last := taken[len(taken)-1].At; last != want || taken[0].At != want+1-uint64(len(taken)) {
					t.Fatalf("part %d: %d to %d come, want up to %d", part, taken[0].At, last, want)
				}
				if again := rows.take(all, nil); len(again) > 0 {
					t.Errorf("part %d: %d come again", part, len(again))
				}
			}
		})
	}
}
