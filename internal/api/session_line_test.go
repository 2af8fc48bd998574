package api

import (
	"encoding/json"
	"math/rand/v2"
	"net/netip"
	"testing"

	"github.com/realmgate/realmgate/internal/model"
)

// anySession is one of many kinds, now and then with what a session never has.
func anySession(r *rand.Rand) Session {
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	endpoint := func() netip.AddrPort {
		switch r.IntN(8) {
		case 0:
			return netip.AddrPort{}
		case 1:
			return netip.AddrPortFrom(netip.MustParseAddr("2001:db8::1"), uint16(r.Uint32()))
		}
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte{byte(r.Uint32()), byte(r.Uint32()), 0, byte(r.Uint32())}), uint16(r.Uint32()>>r.IntN(32)))
	}
	number := func() float64 {
		return []float64{0, float64(r.IntN(1<<30)) * 0.268435456, r.Float64(), r.Float64() / 1e9, 1e22 * r.Float64(), -3, 1e-6}[r.IntN(7)]
	}
	names := []string{"", "www.hosta.foo.example.", "a b", `"`, `\`, "<&>", "ä", "\x01", "\xff", "x"}
	return Session{
		Protocol: model.Protocol([]int{6, 17, 1, 0, 132}[r.IntN(5)]), Private: endpoint(), External: endpoint(), Remote: endpoint(),
		State: pick(append(words[:], names...)...), Origin: pick(words[8:]...), Host: pick(names...), Name: pick(names...),
		Hairpin: r.IntN(2) == 0, Age: number(), Idle: number(),
	}
}

// A line is what encoding/json writes, and is read as it reads it.
func TestSessionLines(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 1))
	fast := 0
	for range 50_000 {
		s := anySession(r)
		want, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		line, err := s.AppendLine(nil)
		if err != nil || string(line) != string(want) {
			t.Fatalf("seed %d: %v\n%s\n%s", seed, err, line, want)
		}
		var parsed, slow Session
		if err := json.Unmarshal(want, &slow); err != nil {
			t.Fatal(err)
		}
		if parsed.ReadLine(want) {
			if fast++; parsed != slow {
				t.Fatalf("seed %d: %s\n%+v\n%+v", seed, want, parsed, slow)
			}
		}
		// A line that was damaged is read as encoding/json does it, or not at all.
		at := r.IntN(len(want))
		want[at] = "\"{},:.0123456789 abcdef\\"[r.IntN(24)]
		if parsed.ReadLine(want) {
			if err := json.Unmarshal(want, &slow); err != nil {
				t.Fatalf("seed %d: %s is read, and is %v", seed, want, err)
			}
			slow = Session{}
			_ = json.Unmarshal(want, &slow)
			if parsed != slow {
				t.Fatalf("seed %d: %s\n%+v\n%+v", seed, want, parsed, slow)
			}
		}
	}
	if fast < 1000 {
		t.Errorf("%d of 50,000 were read without encoding/json", fast)
	}
}

// BenchmarkSessionLine writes and reads the lines of sessions.
func BenchmarkSessionLine(b *testing.B) {
	s := session(1)
	s.Age, s.Idle, s.Host = 1234*0.268435456, 12*0.268435456, "host17.foo.example."
	line, err := s.AppendLine(nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("write", func(b *testing.B) {
		for b.Loop() {
			line, _ = s.AppendLine(line[:0])
		}
	})
	b.Run("read", func(b *testing.B) {
		for b.Loop() {
			if !s.ReadLine(line) {
				b.Fatal(string(line))
			}
		}
	})
	b.Run("json-write", func(b *testing.B) {
		for b.Loop() {
			_, _ = json.Marshal(s)
		}
	})
	b.Run("json-read", func(b *testing.B) {
		for b.Loop() {
			_ = json.Unmarshal(line, &s)
		}
	})
}
