package datapath

import "testing"

// However many take all that they are allowed, something is left, and one alone has its limit.
func TestRoomIsNeverUsedUp(t *testing.T) {
	const most = 64512
	for _, c := range []struct{ addresses, limit, left int }{
		{1, 16384, most - 16384}, {1, 50_000, most - 50_000}, {1, 1 << 30, most / 8}, {1, 4000, most - 4000},
		{16, 4000, 12912}, {64, 4000, 3840}, {16, 16384, 10016}, {64, 16384, 2816}, {1024, 1 << 30, 8},
	} {
		has, room := make([]int, c.addresses), Room{most, most}
		for took := true; took; {
			took = false
			for i := range has {
				if has[i] < c.limit && room.Left > 0 && room.Allows(has[i], c.limit) {
					has[i]++
					room.Left--
					took = true
				}
			}
		}
		if room.Left < c.left*98/100 || room.Left > c.left*102/100+1 {
			t.Errorf("%d addresses with a limit of %d leave %d, want %d", c.addresses, c.limit, room.Left, c.left)
		}
	}
	if room := (Room{most, 0}); room.Allows(1, 16384) || !room.Allows(1, 0) || !room.Allows(0, 16384) {
		t.Error("who has some gets what is not there, or who has none or no limit is refused")
	}
}
