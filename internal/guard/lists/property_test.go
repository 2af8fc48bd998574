package lists

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// drawAddress draws from few addresses, so that entries meet.
func drawAddress(t *rapid.T) netip.Addr {
	b := byte(rapid.OneOf(rapid.IntRange(0, 20), rapid.IntRange(250, 255)).Draw(t, "host"))
	net := byte(rapid.SampledFrom([]int{0, 1, 255}).Draw(t, "net"))
	if rapid.Bool().Draw(t, "six") {
		return netip.AddrFrom16([16]byte{0x20, 1, 0xd, 0xb8, 14: net, 15: b})
	}
	return netip.AddrFrom4([4]byte{203, 0, net, b})
}

// drawEntry draws an entry as text, and what it means said in another way.
func drawEntry(t *rapid.T) (text string, has func(netip.Addr) bool) {
	a := drawAddress(t)
	switch rapid.IntRange(0, 2).Draw(t, "kind") {
	case 0:
		return a.String(), func(b netip.Addr) bool { return a == b }
	case 1:
		p := netip.PrefixFrom(a, rapid.IntRange(a.BitLen()-12, a.BitLen()).Draw(t, "bits")).Masked()
		return p.String(), p.Contains
	}
	b := drawAddress(t)
	for a.Is4() != b.Is4() {
		b = drawAddress(t)
	}
	if b.Less(a) {
		a, b = b, a
	}
	return fmt.Sprintf("%s%s%s", a, rapid.SampledFrom([]string{"-", " - "}).Draw(t, "dash"), b),
		func(c netip.Addr) bool { return c.Is4() == a.Is4() && !c.Less(a) && !b.Less(c) }
}

func TestAListHasJustWhatItsLinesSay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		count := rapid.IntRange(1, 20).Draw(t, "entries")
		table := rapid.Bool().Draw(t, "table")
		end := rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "end")
		var text strings.Builder
		var all []func(netip.Addr) bool
		for range count {
			line, has := drawEntry(t)
			all = append(all, has)
			if rapid.Bool().Draw(t, "noise") {
				text.WriteString(rapid.SampledFrom([]string{"# a", "", "  ", "; 192.0.2.1"}).Draw(t, "before") + end)
			}
			if table {
				line = `"a, b",` + line + ",c"
			}
			text.WriteString(line + rapid.SampledFrom([]string{"", " ", " # 192.0.2.2"}).Draw(t, "after") + end)
		}
		l, err := Parse(strings.NewReader(text.String()), Rules{Downloaded: rapid.Bool().Draw(t, "downloaded")})
		if err != nil {
			t.Fatal(err)
		}
		if l.Entries != count || l.Faults != 0 {
			t.Fatalf("%d entries and %d faults of %d lines", l.Entries, l.Faults, count)
		}
		checkShape(t, l)
		for range 100 {
			a, want := drawAddress(t), false
			for _, has := range all {
				want = want || has(a)
			}
			if l.Contains(a) != want {
				t.Fatalf("%s in the list: %v", a, !want)
			}
		}
	})
}

// checkShape checks that the ranges of a list rise, and do not touch.
func checkShape(t interface{ Fatalf(string, ...any) }, l *List) {
	for i, r := range l.Addresses.Ranges() {
		if r.First > r.Last || i > 0 && uint64(l.Addresses.Ranges()[i-1].Last)+1 >= uint64(r.First) {
			t.Fatalf("IPv4 range %d: %v", i, r)
		}
	}
	for i, r := range l.Addresses.Ranges6() {
		if bytes.Compare(r.First[:], r.Last[:]) > 0 || i > 0 && !netip.AddrFrom16(l.Addresses.Ranges6()[i-1].Last).Next().Less(netip.AddrFrom16(r.First)) {
			t.Fatalf("IPv6 range %d: %v", i, r)
		}
	}
	if n := l.Addresses.Len(); n > l.Entries {
		t.Fatalf("%d ranges of %d entries", n, l.Entries)
	}
}

func TestRangesThatTouchAreOne(t *testing.T) {
	for _, c := range []struct {
		text string
		want int
	}{
		{"2001:db8::-2001:db8::ff\n2001:db8::100\n", 1},
		{"2001:db8::-2001:db8::ff\n2001:db8::101\n", 2},
		{"2001:db8::/33\n2001:db8:8000::/33\n", 1},
		{"2001:db8::/32\n2001:db8:5::/48\n2001:db8::7\n", 1},
		{"ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff\n::\n", 2},
		{"203.0.113.0/25\n203.0.113.128/25\n", 1},
	} {
		l, err := Parse(strings.NewReader(c.text), Rules{})
		if err != nil {
			t.Fatal(err)
		}
		if got := l.Addresses.Len(); got != c.want {
			t.Errorf("%q: %d ranges, want %d", c.text, got, c.want)
		}
	}
}

// FuzzParse: no text makes Parse panic; what it accepts is in order; what a user may not
// write a stranger may only as a fault; a stranger's list never covers the most part.
func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"203.0.113.7\n198.51.100.0/24 # a\n2001:db8::1-2001:db8::f\n", "\xef\xbb\xbfip,x\r\n203.0.113.7,\"a\"\r\n",
		"0.0.0.0/0\n", "::/0", "a\tb\n", "\"", ",", "-", "/", "<html>", "\x1f\x8b", "::ffff:0:0/95", feed(30, 1),
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		written, errWritten := Parse(bytes.NewReader(text), Rules{})
		downloaded, errDownloaded := Parse(bytes.NewReader(text), Rules{Downloaded: true})
		if (written == nil) == (errWritten == nil) || (downloaded == nil) == (errDownloaded == nil) {
			t.Fatalf("a list and an error, or neither: %v, %v", errWritten, errDownloaded)
		}
		if written != nil {
			checkShape(t, written)
		}
		if downloaded == nil {
			return
		}
		checkShape(t, downloaded)
		if (downloaded.Faults == 0) != (written != nil) {
			t.Fatalf("%d faults, and as a file %v", downloaded.Faults, errWritten)
		}
		if err := downloaded.checkCover(); err != nil {
			t.Fatal(err)
		}
	})
}

// million is a list of a million entries, in no order, of a form.
func million(form func(uint32) string) []byte {
	var text bytes.Buffer
	for i := range uint32(1_000_000) {
		text.WriteString(form(i * 2654435761))
		text.WriteByte('\n')
	}
	return text.Bytes()
}

func BenchmarkParseMillion(b *testing.B) {
	number := func(n uint32) string { return fmt.Sprintf("%d.%d.%d.%d", n>>24%223+1, n>>16&255, n>>8&255, n&255) }
	chance := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct {
		name string
		form func(uint32) string
	}{
		{"addresses", number},
		{"prefixes", func(n uint32) string { return number(n&^255) + "/24" }},
		{"csv", func(n uint32) string { return `"2026-01-02 03:04:05","` + number(n) + `",443,"a comment, of somebody"` }},
		{"v6", func(n uint32) string { return fmt.Sprintf("2001:db8:%x:%x::%x", n>>16, n&0xffff, chance.Uint32()>>16) }},
	} {
		text := million(c.form)
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Parse(bytes.NewReader(text), Rules{Downloaded: true, Bytes: 1 << 30}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
