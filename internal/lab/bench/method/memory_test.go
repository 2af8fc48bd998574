package method

import (
	"math"
	"testing"
)

// Table V of Lencse and Shima: 40 M connections, hashsize 2^26, on Linux 4.9.
func TestNetfilterBytesAgreeWithLencseAndShima(t *testing.T) {
	a := Advise(40_000_000)
	if a.Netfilter.HashSize != 1<<26 || a.Netfilter.Most != 1<<26 {
		t.Errorf("hashsize %d, nf_conntrack_max %d: want 2^26, as they had", a.Netfilter.HashSize, a.Netfilter.Most)
	}
	if off := float64(a.Netfilter.MostBytes)/float64(a.Netfilter.LencseBytes) - 1; math.Abs(off) > 0.01 {
		t.Errorf("%d bytes, theirs %d: %.1f %% apart", a.Netfilter.MostBytes, a.Netfilter.LencseBytes, 100*off)
	}
	if want := int64(15_416_000_000 + 536_870_912); a.Netfilter.LencseBytes != want {
		t.Errorf("their figures come to %d, want %d", a.Netfilter.LencseBytes, want)
	}
}

// The least of both is compared with the least, and the most with the most.
func TestAdviceHasBothEnds(t *testing.T) {
	for sessions, outbound := range map[int]int{1: 1, 64_512: 1, 64_513: 2, 1_000_000: 16, 64_000_000: 64} {
		a := Advise(sessions)
		n, r := a.Netfilter, a.Realmgate
		if n.MostBytes-n.LeastBytes != 128*int64(sessions) || n.LeastBytes != 256*int64(sessions)+8*int64(n.HashSize) || n.HashSize < 1024 {
			t.Errorf("%d sessions: %+v", sessions, n)
		}
		if r.Outbound != outbound || r.LeastBytes != RealmgateBytes(r.Capacity, 1) || r.MostBytes != RealmgateBytes(r.Capacity, outbound) {
			t.Errorf("%d sessions: %+v, want %d outbound addresses", sessions, r, outbound)
		}
	}
}

func TestBuckets(t *testing.T) {
	for connections, want := range map[int]int{0: 1, 1: 1, 2: 2, 3: 4, 1 << 20: 1 << 20, 1<<20 + 1: 1 << 21} {
		if got := Buckets(connections); got != want {
			t.Errorf("%d connections: %d buckets, want %d", connections, got, want)
		}
	}
}

func TestCapacityIsWithinItsBounds(t *testing.T) {
	for sessions, want := range map[int]int{1: 1024, 1_000_000: 1_071_428, 64_000_000: 64_000_000} {
		if got := Capacity(sessions); got != want {
			t.Errorf("%d sessions: capacity %d, want %d", sessions, got, want)
		}
	}
}

func TestMostThatFit(t *testing.T) {
	each := func(n int) int64 { return 100 + 10*int64(n) }
	for room, want := range map[int64]int{0: 0, 109: 0, 110: 1, 119: 1, 1099: 99, 1100: 100, 1 << 40: 100} {
		if got := MostThatFit(100, room, each); got != want {
			t.Errorf("room for %d bytes: %d, want %d", room, got, want)
		}
	}
}
