package ban

import (
	"maps"
	"net/netip"
	"testing"

	"pgregory.net/rapid"
)

// Whatever changes while the disk takes nothing, it has all of it once it works again, and
// what was made and ended meanwhile is not remembered.
func TestUnsavedReachesTheDisk(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var u Unsaved
		force, disk := map[netip.Prefix]int{}, map[netip.Prefix]int{}
		save := func(most int) {
			some := u.Some(most)
			if len(some) > most {
				t.Fatalf("%d are asked for, and %d come", most, len(some))
			}
			for _, p := range some {
				if n, known := force[p]; known {
					disk[p] = n
				} else {
					delete(disk, p)
				}
			}
			u.Saved(some)
		}
		for n := range rapid.IntRange(1, 60).Draw(t, "changes") {
			p := netip.PrefixFrom(netip.AddrFrom4([4]byte{192, 0, 2, rapid.Byte().Draw(t, "address") % 8}), 32)
			_, known := force[p]
			switch rapid.IntRange(0, 3).Draw(t, "what") {
			case 0, 1:
				u.Put(p, known)
				force[p] = n
			case 2:
				if known {
					delete(force, p)
					u.Remove([]netip.Prefix{p})
				}
			case 3:
				save(rapid.IntRange(0, 3).Draw(t, "most"))
			}
			either := maps.Clone(disk)
			maps.Copy(either, force)
			if u.Count() > len(either) {
				t.Fatalf("%d are remembered of %d", u.Count(), len(either))
			}
			for p := range force {
				if _, has := disk[p]; u.Only(p) == has {
					t.Fatalf("the disk has %s: %t, and that is taken for %t", p, has, !u.Only(p))
				}
			}
		}
		for u.Count() > 0 {
			save(1)
		}
		if !maps.Equal(force, disk) {
			t.Fatalf("in force are %v, on the disk %v", force, disk)
		}
	})
}
