package hello

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// A hello in two segments, split anywhere, in either order, each twice, with
// sequence numbers that wrap.
func TestStreamSplitAnywhere(t *testing.T) {
	t.Parallel()
	record := hello(t, clientOf(site, nil))
	for _, stream := range [][]byte{record, cut(record, len(record)/5)} {
		for _, first := range []uint32{1, 0xffffff00, 1 << 31} {
			for at := 1; at < len(stream); at++ {
				parts := [][]byte{stream[:at], stream[at:]}
				offsets := []int{0, at}
				for _, order := range [][]int{{0, 1}, {1, 0}, {0, 0, 1}, {1, 1, 0}} {
					s := NewStream(first)
					for _, i := range order {
						if _, err := TLS(s.Bytes()); !errors.Is(err, ErrShort) {
							t.Fatalf("before the last part, split at %d: %v", at, err)
						}
						if err := s.Add(first+uint32(offsets[i]), parts[i]); err != nil {
							t.Fatal(err)
						}
					}
					if name, err := TLS(s.Bytes()); name != site || err != nil {
						t.Fatalf("split at %d, order %v: %q, %v", at, order, name, err)
					}
				}
			}
		}
	}
}

func TestStreamRules(t *testing.T) {
	t.Parallel()
	type segment struct {
		offset int
		data   string
		want   error
	}
	long := string(bytes.Repeat([]byte("x"), MaxBytes))
	for _, c := range []struct {
		name     string
		segments []segment
		want     string
	}{
		{"overlaps that agree", []segment{{0, "abc", nil}, {4, "ef", nil}, {1, "bcdef", nil}}, "abcdef"},
		{"an overlap that differs", []segment{{0, "abc", nil}, {2, "xd", ErrDiffers}, {3, "d", ErrDiffers}}, "abc"},
		{"a differing overlap behind a gap", []segment{{3, "def", nil}, {0, "abcdeX", ErrDiffers}}, ""},
		{"before the first", []segment{{-1, "\x00", nil}, {-3, "xyzab", nil}, {-9, "x", nil}}, "ab"},
		{"nothing", []segment{{0, "", nil}, {7, "", nil}}, ""},
		{"beyond the window", []segment{{0, "a", nil}, {MaxBytes, "b", nil}, {1 << 30, "b", nil}}, "a"},
		{"across its end", []segment{{1, long, nil}, {0, "x", nil}, {MaxBytes - 1, "xy", nil}}, long},
	} {
		s := NewStream(0xfffffffe)
		for _, segment := range c.segments {
			if err := s.Add(0xfffffffe+uint32(segment.offset), []byte(segment.data)); !errors.Is(err, segment.want) {
				t.Errorf("%s: at %d: %v, want %v", c.name, segment.offset, err, segment.want)
			}
		}
		if got := string(s.Bytes()); got != c.want {
			t.Errorf("%s: %d octets %.20q, want %d %.20q", c.name, len(got), got, len(c.want), c.want)
		}
	}
}

func TestStreamBound(t *testing.T) {
	t.Parallel()
	s := NewStream(7)
	for i := range MaxSegments {
		for range 3 {
			if err := s.Add(7+uint32(2*i), []byte("a")); err != nil {
				t.Fatalf("segment %d: %v", i, err)
			}
		}
	}
	if err := s.Add(8, []byte("a")); !errors.Is(err, ErrTooMany) {
		t.Errorf("segment %d: %v", MaxSegments, err)
	}
	if err := s.Add(7, []byte("a")); !errors.Is(err, ErrTooMany) {
		t.Errorf("after it: %v", err)
	}
}

// What was added is copied, and what was handed out stays.
func TestStreamOwnsItsOctets(t *testing.T) {
	t.Parallel()
	s := NewStream(0)
	data := []byte("abc")
	_ = s.Add(0, data)
	before := s.Bytes()
	data[0] = 'x'
	_ = s.Add(3, []byte("def"))
	_ = append(before, 'z')
	if string(before) != "abc" || string(s.Bytes()) != "abcdef" {
		t.Errorf("%q, %q", before, s.Bytes())
	}
}

// octetwise is the model of a Stream: what each octet is, or -1.
type octetwise [MaxBytes]int

func (o *octetwise) add(offset int, data []byte) (differs bool) {
	each := func(do func(at, octet int)) {
		for i, octet := range data {
			if at := offset + i; at >= 0 && at < MaxBytes {
				do(at, int(octet))
			}
		}
	}
	each(func(at, octet int) { differs = differs || o[at] >= 0 && o[at] != octet })
	if !differs {
		each(func(at, octet int) { o[at] = octet })
	}
	return differs
}

func (o *octetwise) start() (start []byte) {
	for _, octet := range o {
		if octet < 0 {
			break
		}
		start = append(start, byte(octet))
	}
	return start
}

// obeys feeds segments to a Stream and to the model.
func obeys(t interface {
	Helper()
	Fatalf(string, ...any)
}, first uint32, offsets []int, data [][]byte) {
	t.Helper()
	s, model := NewStream(first), new(octetwise)
	for i := range model {
		model[i] = -1
	}
	for i, offset := range offsets {
		err := s.Add(first+uint32(offset), data[i])
		if errors.Is(err, ErrTooMany) {
			return
		}
		if differs := model.add(offset, data[i]); differs != errors.Is(err, ErrDiffers) {
			t.Fatalf("segment %d at %d differs: %v, but %v", i, offset, differs, err)
		}
		if !bytes.Equal(s.Bytes(), model.start()) {
			t.Fatalf("after segment %d at %d: %q, want %q", i, offset, s.Bytes(), model.start())
		}
		if err != nil {
			return
		}
	}
}

func TestStreamIsItsModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 24).Draw(t, "segments")
		offset := rapid.OneOf(rapid.IntRange(-5, 30), rapid.IntRange(MaxBytes-10, MaxBytes+5))
		data := rapid.SliceOfN(rapid.SampledFrom([]byte("aaaaaaaab")), 0, 12)
		obeys(t, rapid.Uint32().Draw(t, "first"), rapid.SliceOfN(offset, n, n).Draw(t, "offsets"), rapid.SliceOfN(data, n, n).Draw(t, "data"))
	})
}

// However a hello is cut, ordered and repeated, there is its name or an error, and
// never another name.
func TestStreamNameOrError(t *testing.T) {
	t.Parallel()
	record := hello(t, clientOf(site, nil))
	request := []byte("GET / HTTP/1.1\r\nHost: " + site + "\r\nX: " + string(bytes.Repeat([]byte("y"), 3000)) + "\r\n\r\n")
	rapid.Check(t, func(t *rapid.T) {
		stream, read := record, TLS
		if rapid.Bool().Draw(t, "HTTP") {
			stream, read = request, HTTP
		} else if size := rapid.IntRange(0, 600).Draw(t, "record"); size > 0 {
			stream = cut(record, size)
		}
		ends := append(rapid.SliceOfN(rapid.IntRange(1, len(stream)-1), 0, 10).Draw(t, "ends"), len(stream))
		slices.Sort(ends)
		var segments [][2]int
		from := 0
		for _, end := range ends {
			back := rapid.IntRange(0, min(from, 40)).Draw(t, "overlap")
			segments = append(segments, [2]int{from - back, end})
			from = end
		}
		segments = append(segments, rapid.SliceOfN(rapid.SampledFrom(segments), 0, 4).Draw(t, "again")...)
		segments = rapid.Permutation(segments).Draw(t, "order")
		lost := rapid.IntRange(-20, len(segments)-1).Draw(t, "lost")
		s := NewStream(0xfffffc00)
		for i, segment := range segments {
			if i == lost {
				continue
			}
			if err := s.Add(0xfffffc00+uint32(segment[0]), stream[segment[0]:segment[1]]); err != nil {
				t.Fatalf("segment %v: %v", segment, err)
			}
			name, err := read(s.Bytes())
			if name != site && !errors.Is(err, ErrShort) {
				t.Fatalf("%q, %v", name, err)
			}
		}
		if name, err := read(s.Bytes()); lost < 0 && (name != site || err != nil) {
			t.Fatalf("all segments %v: %q, %v", segments, name, err)
		}
	})
}
