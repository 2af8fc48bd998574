package datapath

import "testing"

// living makes slots of the groups, whose numbers are their places; a group below 0 is a slot that is gone.
func living(groups ...int) []Slot {
	slots := make([]Slot, len(groups))
	for i, group := range groups {
		slots[i] = Slot{Number: i, State: SlotLive, group: uint8(max(0, group))}
		if group < 0 {
			slots[i].State = SlotGone
		}
	}
	return slots
}

func (s *shares) count() (n map[uint8]int) {
	n = map[uint8]int{}
	for _, slot := range s.Slot {
		n[slot]++
	}
	return n
}

func TestSharesFollowTheirSlots(t *testing.T) {
	all := func(int) bool { return true }
	half := func(share int) bool { return share%2 == 0 }
	const shareCount = 1 << shareBits
	for _, c := range []struct {
		text          string
		groups        int
		before, after []Slot
		idle          func(int) bool
		want          map[uint8]int
	}{
		{"the first", 1, nil, living(0), nil, map[uint8]int{0: shareCount}},
		{"three at the start", 3, nil, living(0, 1, 2), nil, map[uint8]int{0: 5462, 1: 5461, 2: 5461}},
		{"none is left", 1, living(0), living(-1), nil, map[uint8]int{noSlot: shareCount}},
		{"one comes, all are busy", 1, living(0), living(0, 0), nil, map[uint8]int{0: shareCount}},
		{"one comes, all are idle", 1, living(0), living(0, 0), all, map[uint8]int{0: shareCount / 2, 1: shareCount / 2}},
		{"one comes, half are idle", 1, living(0), living(0, 0, 0), half, map[uint8]int{0: shareCount / 2, 1: shareCount / 4, 2: shareCount / 4}},
		{"another instead", 1, living(0), living(-1, 0), nil, map[uint8]int{1: shareCount}},
		{"one of a group's two leaves", 2, living(0, 1, 0, 1), living(0, 1, -1, 1), nil, map[uint8]int{0: 8192, 1: 4096, 3: 4096}},
		{"the only one of a group leaves", 2, living(0, 1), living(0, -1), nil, map[uint8]int{0: shareCount}},
		{"it returns, all are idle", 2, living(0, -1), living(0, 1), all, map[uint8]int{0: 8192, 1: 8192}},
		{"it returns, all are busy", 2, living(0, -1), living(0, 1), nil, map[uint8]int{0: shareCount}},
	} {
		var before, after shares
		for i := range before.Slot {
			before.Slot[i] = noSlot
		}
		before.assign(c.before, c.groups, all)
		after = before
		after.assign(c.after, c.groups, c.idle)
		for slot, n := range after.count() {
			if c.want[slot] != n {
				t.Errorf("%s: slot %d has %d shares, want %d", c.text, slot, n, c.want[slot])
			}
		}
		lives := livesIn(c.after)
		for i, slot := range before.Slot {
			if lives[slot] && after.Slot[i] != slot && (c.idle == nil || !c.idle(i)) {
				t.Fatalf("%s: share %d was moved from a slot that lives", c.text, i)
			}
		}
		again := after
		if again.assign(c.after, c.groups, c.idle); again != after {
			t.Errorf("%s: a second look moves shares again", c.text)
		}
	}
}
