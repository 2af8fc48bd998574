package model

import (
	"strings"
	"testing"
)

func TestParsePattern(t *testing.T) {
	long := strings.Repeat(strings.Repeat("a", 63)+".", 3)
	for _, test := range []struct {
		in   string
		want Name // empty: refused
	}{
		{"hosta.foo.example.", "hosta.foo.example."},
		{"*.Foo.Example", "*.foo.example."},
		{"*._tcp.foo.example.", "*._tcp.foo.example."},
		{"*.example", "*.example."},
		{long + strings.Repeat("b", 61) + ".", Name(long + strings.Repeat("b", 61) + ".")},
		{"*." + long + strings.Repeat("b", 59), Name("*." + long + strings.Repeat("b", 59) + ".")},
		{"*." + long + strings.Repeat("b", 60), ""}, // 256 octets on the wire
		{"*", ""},
		{"*.", ""},
		{"*foo.example.", ""},
		{"*.*.foo.example.", ""},
		{"www.*.foo.example.", ""},
	} {
		got, err := ParsePattern(test.in)
		if got != test.want || (err == nil) != (test.want != "") {
			t.Errorf("ParsePattern(%q) = %q, %v; want %q", test.in, got, err, test.want)
		}
	}
	if got := Name("foo.example.").Wildcard(); got != "*.foo.example." {
		t.Errorf("the wildcard below foo.example. is %q", got)
	}
}
