package nf

import (
	"encoding/binary"
	"fmt"

	"github.com/realmgate/realmgate/internal/model"
)

// mostRanges6 is how many ranges the kernel finds one among by its halvings.
const mostRanges6 = 1 << protection6Remote6LimitREMOTE6STEPS

// table6 is what is known of all IPv6 addresses, in rising order (bpf/guard/remote6.h).
type table6 []protection6Remote6Range

// compile6 makes the table of all addresses.
func (r Remote) compile6() (table6, error) {
	list := table6{{}}
	var now uint64
	walks := []walk6{}
	for _, m := range r.marked6() {
		walks = append(walks, walk6{ranges: m.set.Ranges6(), marks: m.marks})
	}
	for {
		nearest := -1
		for i := range walks {
			if len(walks[i].ranges) > 0 && (nearest < 0 || walks[i].bound().before(walks[nearest].bound())) {
				nearest = i
			}
		}
		if nearest < 0 {
			return list, nil
		}
		at := walks[nearest].bound()
		now ^= walks[nearest].marks // those of a set hold from a bound to the next, by turns
		walks[nearest].step()
		if last := &list[len(list)-1]; last.High == at.high && last.Low == at.low {
			last.Marks = now
			continue
		}
		if len(list) == mostRanges6 {
			return nil, fmt.Errorf("the IPv6 addresses of allowlist, blocklist and geofence together make more than %d ranges", mostRanges6)
		}
		list = append(list, protection6Remote6Range{High: at.high, Low: at.low, Marks: now})
	}
}

// bound6 is where a range begins, or the next one after it.
type bound6 struct{ high, low uint64 }

func (b bound6) before(other bound6) bool {
	return b.high < other.high || b.high == other.high && b.low < other.low
}

// walk6 goes through the bounds of a set.
type walk6 struct {
	ranges []model.AddressRange6
	inside bool // the first has begun
	marks  uint64
}

func (w *walk6) bound() bound6 {
	at := w.ranges[0].First
	if w.inside {
		at = w.ranges[0].Last
	}
	b := bound6{binary.BigEndian.Uint64(at[:8]), binary.BigEndian.Uint64(at[8:])}
	if w.inside {
		if b.low++; b.low == 0 {
			b.high++
		}
	}
	return b
}

// step goes to the next bound. Behind the last address there is none.
func (w *walk6) step() {
	if w.inside {
		w.ranges = w.ranges[1:]
	}
	w.inside = !w.inside
	if w.inside && w.bound() == (bound6{}) {
		w.ranges = nil
	}
}

// prefixes are the ranges that the addresses of each prefix of 16 bits are in.
func (list table6) prefixes() []protection6Remote6Prefix {
	prefixes := make([]protection6Remote6Prefix, protection6Remote6LimitREMOTE6PREFIXES)
	next := 0 // the first range that begins behind what was gone through
	for i := range prefixes {
		first := bound6{high: uint64(i) << 48}
		if next < len(list) && (bound6{list[next].High, list[next].Low}) == first {
			next++
		}
		begin := next - 1
		for next < len(list) && list[next].High>>48 == uint64(i) {
			next++
		}
		prefixes[i] = protection6Remote6Prefix{First: uint32(begin), Count: uint32(next - begin)}
	}
	return prefixes
}
