package report

import (
	"slices"
	"strings"

	"github.com/realmgate/realmgate/internal/lab/bench"
)

// mostOpen is how many rows a reader takes in at a glance. A longer table has its
// medians side by side before it, or its curve, and is folded on the page.
const mostOpen = 12

// long says whether a block wants an overview first.
func (b *block) long() bool { return len(b.rows) > mostOpen && len(b.devices()) > 1 }

// devices are those of the rows, in the order of the rows.
func (b *block) devices() (names []string) {
	for _, r := range slices.SortedStableFunc(slices.Values(b.rows), func(x, y row) int { return x.style - y.style }) {
		if !slices.Contains(names, r.DUT) {
			names = append(names, r.DUT)
		}
	}
	return names
}

// overview writes the medians, a line for each set of parameters and a column for
// each device: what a curve shows.
func (b *block) overview(r bench.Report) string {
	names := b.devices()
	head := b.heads()
	left := map[int]bool{0: b.of != ""}
	for _, name := range names {
		if name == r.Control {
			name += " (control)"
		}
		head = append(head, name)
	}
	rows := [][]string{head}
	for i, row := range b.rows {
		if i == 0 || row.group() != b.rows[i-1].group() {
			rows = append(rows, append(b.cells(row), slices.Repeat([]string{"–"}, len(names))...))
		}
		if finite(float64(row.Median)) {
			at := len(b.heads()) + slices.Index(names, row.DUT)
			rows[len(rows)-1][at] = row.sign() + row.scale.text(float64(row.Median))
		}
	}
	return align(rows, left)
}

// heads are the columns that tell rows apart, beside the device.
func (b *block) heads() (list []string) {
	if b.of != "" {
		list = append(list, strings.ToUpper(b.of))
	}
	return append(list, upper(b.keys)...)
}

// cells are those of a row in these columns.
func (b *block) cells(r row) (list []string) {
	if b.of != "" {
		list = append(list, r.member)
	}
	for _, key := range b.keys {
		cell := ""
		if v, ok := r.values[key]; ok {
			cell = parameter(v)
		}
		list = append(list, cell)
	}
	return list
}

// sign stands before a figure that is a lower bound.
func (r row) sign() string {
	if r.bound {
		return "≥ "
	}
	return ""
}
