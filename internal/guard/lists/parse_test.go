package lists

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"testing/iotest"
)

// holds checks that a list has each of some addresses and none of others.
func holds(t *testing.T, l *List, in, out string) {
	t.Helper()
	for a := range strings.FieldsSeq(in) {
		if !l.Contains(netip.MustParseAddr(a)) {
			t.Errorf("%s is not in the list", a)
		}
	}
	for a := range strings.FieldsSeq(out) {
		if l.Contains(netip.MustParseAddr(a)) {
			t.Errorf("%s is in the list", a)
		}
	}
}

func TestFormatsAreRead(t *testing.T) {
	for _, c := range []struct {
		name, text string
		entries    int
		in, out    string
	}{
		{"a line each", "203.0.113.7\n198.51.100.0/24\n", 2, "203.0.113.7 198.51.100.0 198.51.100.255", "203.0.113.6 203.0.113.8 198.51.101.0"},
		{"IPv6 alike", "2001:db8::7\n2001:db8:1::/48\n", 2, "2001:db8::7 2001:db8:1:ffff::1", "2001:db8::8 2001:db8:2::"},
		{"no end of the last line", "203.0.113.7", 1, "203.0.113.7", ""},
		{"CRLF, blanks and blank lines", "\r\n  203.0.113.7 \r\n\t\r\n\n203.0.113.9\r\n", 2, "203.0.113.7 203.0.113.9", "203.0.113.8"},
		{"byte order mark", "\xef\xbb\xbf203.0.113.7\n", 1, "203.0.113.7", ""},
		{"ranges", "203.0.113.7-203.0.113.9\n2001:db8::1 - 2001:db8::ffff\n", 2, "203.0.113.7 203.0.113.8 203.0.113.9 2001:db8::5", "203.0.113.6 203.0.113.10 2001:db8::"},
		{"comments", "# a\n; b\n// c\n203.0.113.7 # d\n203.0.113.8;SBL1\n203.0.113.9 // e\n 203.0.113.10#f", 4, "203.0.113.7 203.0.113.8 203.0.113.9 203.0.113.10", ""},
		{"CSV with a header", "# c\n\"first_seen\",\"dst_ip\",\"port\"\n\"2026-01-02 03:04:05\",\"203.0.113.7\",\"443\"\n\"x, y\",\"198.51.100.0/24\",\"1 # 2\"\n", 2, "203.0.113.7 198.51.100.9", "198.51.101.0"},
		{"CSV without one", "http://bad.example/a,203.0.113.7,443\n,203.0.113.9,80\n\"1 # 2; 3\",203.0.113.11,\"a\"\n", 3, "203.0.113.7 203.0.113.9 203.0.113.11", "203.0.113.8"},
		{"values apart by tabs", "203.0.113.7\t10\n2001:db8::1\t3\n", 2, "203.0.113.7 2001:db8::1", ""},
		{"a range in a column", "FI,203.0.113.7-203.0.113.8\n", 1, "203.0.113.7 203.0.113.8", "203.0.113.9"},
		{"IPv4 within IPv6", "::ffff:203.0.113.7\n::ffff:198.51.100.0/120\n", 2, "203.0.113.7 ::ffff:203.0.113.7 198.51.100.255", "198.51.101.0"},
		{"two that overlap, and one twice", "203.0.113.0/24\n203.0.113.7\n203.0.113.7\n2001:db8::/32\n2001:db8::1\n", 5, "203.0.113.255 2001:db8:ffff::", "203.0.114.0 2001:db9::"},
		{"all there is, of a file", "0.0.0.0/0\n::/0\n", 2, "0.0.0.0 255.255.255.255 :: ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", ""},
		{"nothing, of a file", "# to be filled\n", 0, "", "203.0.113.7 ::1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, err := Parse(iotest.OneByteReader(strings.NewReader(c.text)), Rules{})
			if err != nil {
				t.Fatal(err)
			}
			if l.Entries != c.entries || l.Faults != 0 {
				t.Errorf("%d entries and %d faults, want %d and none", l.Entries, l.Faults, c.entries)
			}
			holds(t, l, c.in, c.out)
		})
	}
}

func TestWhatIsWrongInAFileIsToldWithItsLine(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"no address", "203.0.113.7\n\nbad.example\n", `line 3: want an address, a prefix or a range, not "bad.example"`},
		{"a long word", strings.Repeat("a", 61), `not what begins with "` + strings.Repeat("a", 60) + `"`},
		{"a number too high", "203.0.113.256\n", "line 1: "},
		{"an octal number", "203.0.113.010\n", "line 1: "},
		{"bits beyond the prefix", "203.0.113.7/24\n", "line 1: 203.0.113.7 is no prefix boundary, the prefix around it is 203.0.113.0/24"},
		{"bits beyond an IPv6 prefix", "2001:db8::1/32\n", "the prefix around it is 2001:db8::/32"},
		{"a length too long", "203.0.113.0/33\n", "line 1: "},
		{"a zone", "fe80::1%eth0\n", "line 1: "},
		{"a range backwards", "203.0.113.9-203.0.113.7\n", "203.0.113.9-203.0.113.7 ends before it begins"},
		{"a range of two families", "203.0.113.9-2001:db8::\n", "two families"},
		{"half a range", "203.0.113.9-\n", "not nothing"},
		{"two on a line", "203.0.113.9 203.0.113.10\n", "line 1: "},
		{"a mistyped address that is no header", "203.0.113.x,a\n203.0.113.9,b\n", "line 1: no column has an address"},
		{"a mistyped prefix that is no header", "b203.0.113.0/24,a\n203.0.113.9,b\n", "line 1: no column has an address"},
		{"a mistyped IPv6 address that is no header", "g001:db8::1,a\n203.0.113.9,b\n", "line 1: no column has an address"},
		{"a second header", "ip,name\nip,name\n", "line 2: no column has an address"},
		{"two columns of addresses", "ip,to\n203.0.113.7,203.0.113.9\n", "line 2: two columns have addresses"},
		{"another column", "a,203.0.113.7\n203.0.113.8,b\n", `line 2: want an address, a prefix or a range, not "b"`},
		{"a column too few", "a,203.0.113.7\nb\n", "line 2: the line has no column 2"},
		{"a quote that is open", "a,\"203.0.113.7\"\nb,\"203.0.113.8\n", "line 2: the line has no column 2"},
		{"a long line", "203.0.113.7\n" + strings.Repeat(" ", 100_000) + "\n203.0.113.8\n", "line 2: the line is longer than 4096 bytes"},
		{"a line just too long", "203.0.113.7" + strings.Repeat(" ", 4096-11) + "\n203.0.113.8" + strings.Repeat(" ", 4097-11) + "\n", "line 2: the line is longer than 4096 bytes"},
		{"a long line at the end", strings.Repeat("x", 100_000), "line 1: the line is longer than 4096 bytes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, err := Parse(strings.NewReader(c.text), Rules{})
			var line *LineError
			if l != nil || !errors.As(err, &line) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}

func TestWhatIsNoListIsRefused(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"HTML", "\n <!DOCTYPE html>\n<p>203.0.113.7", "HTML"},
		{"JSON object", `{"addresses": ["203.0.113.7"]}`, "JSON"},
		{"JSON array", "\xef\xbb\xbf[\"203.0.113.7\"]", "JSON"},
		{"binary", "203.0.113.7\n\x00\x01", "binary"},
		{"compressed", "\x1f\x8b\x08\x00", "compressed"},
		{"UTF-16", "\xff\xfe2\x000\x003\x00", "UTF-16"},
	} {
		for _, rules := range []Rules{{}, {Downloaded: true}} {
			t.Run(fmt.Sprint(c.name, rules.Downloaded), func(t *testing.T) {
				if l, err := Parse(strings.NewReader(c.text), rules); l != nil || !errors.Is(err, ErrNoList) || !strings.Contains(err.Error(), c.want) {
					t.Errorf("got %v, want %s", err, c.want)
				}
			})
		}
	}
}

func TestTheColumnCanBeGiven(t *testing.T) {
	l, err := Parse(strings.NewReader("from,to\n203.0.113.7,203.0.113.9\n"), Rules{Column: 2})
	if err != nil {
		t.Fatal(err)
	}
	holds(t, l, "203.0.113.9", "203.0.113.7")
}

// One of the two would be left out, and nobody would notice.
func TestNoColumnIsGuessed(t *testing.T) {
	text := "203.0.113.7,203.0.113.9\n" + strings.Repeat("203.0.113.11,x\n", 100)
	if l, err := Parse(strings.NewReader(text), Rules{Downloaded: true}); l != nil || !errors.Is(err, errTwoColumns) {
		t.Errorf("%v", err)
	}
}

// feed is a text of so many good lines and so many wrong ones, mixed.
func feed(good, wrong int) string {
	var text strings.Builder
	for i := range max(good, wrong) {
		if i < good {
			fmt.Fprintf(&text, "203.0.%d.%d\n", i/256, i%256)
		}
		if i < wrong {
			fmt.Fprintf(&text, "wrong %d\n", i)
		}
	}
	return text.String()
}

func TestADownloadedListMayHaveAFewWrongLines(t *testing.T) {
	l, err := Parse(strings.NewReader(feed(95, 5)), Rules{Downloaded: true})
	if err != nil {
		t.Fatal(err)
	}
	if l.Entries != 95 || l.Faults != 5 || l.Fault == nil || l.Fault.Line != 2 {
		t.Errorf("%d entries, %d faults, the first %v", l.Entries, l.Faults, l.Fault)
	}
	_, err = Parse(strings.NewReader(feed(94, 6)), Rules{Downloaded: true})
	if !errors.Is(err, ErrTooFaulty) || !strings.Contains(err.Error(), "6 of 100, the first is line 2: ") {
		t.Errorf("more than one in 20 is wrong: %v", err)
	}
	if _, err = Parse(strings.NewReader("# all clear\n"), Rules{Downloaded: true}); !errors.Is(err, ErrEmpty) {
		t.Errorf("nothing in it: %v", err)
	}
}

// A feed must not cut the gateway off the Internet, whoever writes it.
func TestADownloadedListCannotBlackOutTheWorld(t *testing.T) {
	all := func(step int, format string) string {
		var text strings.Builder
		for i := 0; i < 256; i += step {
			fmt.Fprintf(&text, format, i)
		}
		return text.String()
	}
	for _, c := range []struct {
		name, text string
		refused    bool
	}{
		{"all of IPv4", "203.0.113.7\n0.0.0.0/0\n", true},
		{"all of IPv6", "2001:db8::1\n::/0\n", true},
		{"all of IPv4 within IPv6", "::ffff:0.0.0.0/96\n", true},
		{"wider than a /8", "32.0.0.0/7\n", true},
		{"a range wider than a /8", "32.0.0.0-33.0.0.0\n", true},
		{"wider than a /8, in a long list", "32.0.0.0/7\n" + feed(100, 0), true},
		{"a /8", "32.0.0.0/8\n", false},
		{"multicast and reserved space, as lists of bogons have", "0.0.0.0/8\n224.0.0.0/3\n", false},
		{"what reaches into multicast space", "222.0.0.0-239.255.255.255\n", true},
		{"wider than an IPv6 /12", "2a00::/11\n", true},
		{"a /12", "2a00::/12\n", false},
		{"IPv6 that nobody has", "8000::/1\n4000::/2\n::/3\n", false},
		{"all of IPv4 in pieces", all(1, "%d.0.0.0/8\n"), true},
		{"all of IPv6 in pieces", all(1, "2%02x0::/12\n") + all(1, "3%02x0::/12\n"), true},
		{"a quarter of IPv6", all(2, "2%02x0::/12\n"), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, err := Parse(strings.NewReader(c.text), Rules{Downloaded: true})
			if c.refused != errors.Is(err, ErrTooWide) || c.refused != (l == nil) {
				t.Errorf("got %v, want it refused: %v", err, c.refused)
			}
		})
	}
}

func TestSizesAreBounded(t *testing.T) {
	text := feed(100, 0)
	for _, downloaded := range []bool{false, true} {
		fits := Rules{Downloaded: downloaded, Bytes: int64(len(text)), Entries: 100}
		if _, err := Parse(strings.NewReader(text), fits); err != nil {
			t.Errorf("just fits: %v", err)
		}
		short, few := fits, fits
		short.Bytes--
		few.Entries--
		if _, err := Parse(strings.NewReader(text), short); !errors.Is(err, ErrTooLarge) {
			t.Errorf("a byte too many: %v", err)
		}
		if _, err := Parse(strings.NewReader(text), few); !errors.Is(err, ErrTooLarge) {
			t.Errorf("an entry too many: %v", err)
		}
	}
}

// What fails to come is not taken for the end of the list.
func TestAnErrorOfTheReaderIsNotTheEnd(t *testing.T) {
	for _, rules := range []Rules{{}, {Downloaded: true}} {
		text := strings.NewReader(strings.Repeat("203.0.113.7\n", 10_000))
		if _, err := Parse(iotest.TimeoutReader(text), rules); !errors.Is(err, iotest.ErrTimeout) {
			t.Errorf("got %v", err)
		}
	}
}

// Contains reports whether an address is in the list. An IPv6 address that maps an IPv4
// one is the IPv4 one.
func (l *List) Contains(a netip.Addr) bool {
	return a.IsValid() && l.Addresses.Contains(a.Unmap())
}
