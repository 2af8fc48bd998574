package model

import (
	"strings"
	"testing"
)

func TestParseName(t *testing.T) {
	long := strings.Repeat("a", 63)
	for _, test := range []struct {
		in   string
		want Name // empty: refused
	}{
		{"hosta.foo.example.", "hosta.foo.example."},
		{"HostA.Foo.Example", "hosta.foo.example."},
		{"_http._tcp.hosta.foo.example", "_http._tcp.hosta.foo.example."},
		{long + ".example", Name(long + ".example.")},
		{long + "a.example", ""},
		{strings.Repeat(long+".", 4), ""}, // 257 octets on the wire
		{"", ""},
		{".", ""},
		{"a..b", ""},
		{"-a.example", ""},
		{"a-.example", ""},
		{"a b.example", ""},
		{"ä.example", ""},
		{"\u212a.example", ""}, // KELVIN SIGN, whose small letter is k
		{"\u017f.example", ""}, // LATIN SMALL LETTER LONG S, whose capital is S
		{"a\x00.example", ""},
		{"a.example..", ""},
		{"XN--BCHER-KVA.example", "xn--bcher-kva.example."},
	} {
		got, err := ParseName(test.in)
		if got != test.want || (err == nil) != (test.want != "") {
			t.Errorf("ParseName(%q) = %q, %v; want %q", test.in, got, err, test.want)
		}
	}
}

// The predecessor compared names by bare suffix, and served evilgwa.demo for gwa.demo.
func TestNamesAreComparedByLabel(t *testing.T) {
	for _, test := range []struct {
		name, zone Name
		want       bool
	}{
		{"hosta.foo.example.", "foo.example.", true},
		{"foo.example.", "foo.example.", true},
		{"evilfoo.example.", "foo.example.", false},
		{"example.", "foo.example.", false},
	} {
		if got := test.name.In(test.zone); got != test.want {
			t.Errorf("%s in %s: %v", test.name, test.zone, got)
		}
	}
}

func FuzzParseName(f *testing.F) {
	f.Add("hosta.foo.example.")
	f.Fuzz(func(t *testing.T, in string) {
		name, err := ParseName(in)
		if err != nil {
			return
		}
		if again, err := ParseName(name.String()); err != nil || again != name {
			t.Fatalf("%q became %q, which became %q (%v)", in, name, again, err)
		}
	})
}
