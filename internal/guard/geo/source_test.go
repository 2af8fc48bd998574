package geo

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"
	"time"
)

// Files in the formats of what is published, of made-up content.
const (
	torV4 = `# Location Database Export
#
# Generated: Thu, 25 Jun 2026 04:33:59 GMT
#
33554432,33554687,FI
33554688,33554744,SE
50331648,50331903,??
84215040,84215295,UK
84215296,84215551,EU
3232235776,3232236031,US
`
	torV6 = `# a comment
2001::,2001:0:ffff:ffff:ffff:ffff:ffff:ffff,??
2001:200::,2001:200:134:ffff:ffff:ffff:ffff:ffff,JP
2001:200:135::,2001:200:135:ffff:ffff:ffff:ffff:fffe,SA
2001:db8::,2001:db8::ff,US
`
	asnV4 = `2.0.0.0,2.0.0.127,64500,Plain
2.0.0.128,2.0.1.255,64501,"Example, Inc."
192.168.0.0,192.168.0.255,64502,"LLC ""EXAMPLE"""
`
	asnV6 = `2001:200::,2001:200:ffff:ffff:ffff:ffff:ffff:ffff,64503,Example
`
)

func readTable(t testing.TB) *Table {
	t.Helper()
	var b Builder
	for _, s := range []struct{ name, text string }{{"geoip", torV4}, {"geoip6", torV6}, {"asn", asnV4 + asnV6}} {
		if err := b.Read([]byte(s.text), Source{Name: s.name}); err != nil {
			t.Fatal(err)
		}
	}
	table, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func TestSourcesAreKept(t *testing.T) {
	list := readTable(t).Sources()
	if len(list) != 3 {
		t.Fatalf("%+v", list)
	}
	want := Source{Name: "geoip", Rows: 6,
		SHA256: fmt.Sprintf("%x", sha256.Sum256([]byte(torV4)))}
	if list[0] != want {
		t.Errorf("%+v, want %+v", list[0], want)
	}
	if list[1].SHA256 == list[0].SHA256 || list[2].Rows != 4 {
		t.Errorf("%+v", list[1:])
	}
	var b Builder
	given := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	if err := b.ReadCSV(strings.NewReader(torV4), Source{Name: "x", Date: given}); err != nil || b.table.sources[0].Date != given {
		t.Errorf("%v, %+v", err, b.table.sources)
	}
}

func TestBadSourcesAreRefusedWithTheLine(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"nothing", "", "x has no ranges"},
		{"comments only", "# geoip\n", "x has no ranges"},
		{"a web page", "<!DOCTYPE html>\n<html>\n", "x is a web page"},
		{"a web page behind spaces", "\n <html></html>", "x is a web page"},
		{"a web page further down", "1,2,FI\n <html>\n", "x:2: want FIRST,LAST,COUNTRY"},
		{"unknown country", "# c\n1,2,FI\n3,4,QQ\n", `x:3: no country has the code "QQ"`},
		{"small letters", "1,2,fi\n", "x:1: want a country code"},
		{"three letters", "1,2,FIN\n", "x:1: want a country code"},
		{"a space", "1,2,FI \n", "x:1: want a country code"},
		{"a comment behind", "1,2,FI # x\n", "x:1: want a country code"},
		{"reversed", "1,2,FI\n9,8,FI\n", "x:2: the range ends at 8, before it begins"},
		{"overlapping", "1,5,FI\n5,8,SE\n", "x:2: 5 is in a range above"},
		{"backwards", "5,8,FI\n1,2,SE\n", "x:2: 1 is in a range above, or before one"},
		{"after the last address", "1,4294967295,FI\n0,0,SE\n", "x:2: 0 is in a range above"},
		{"a zone", "fe80::1%a,fe80::2%a,FI\n", "x:1: want an IPv6 address"},
		{"IPv4 in IPv6", "::ffff:1.2.3.4,::ffff:1.2.3.5,FI\n", "x:1: want an IPv6 address"},
		{"reversed IPv6", "2001::2,2001::1,FI\n", "x:1: the range ends at 2001::1"},
		{"overlapping IPv6", "2001::,2001::5,FI\n2001::5,2001::6,FI\n", "x:2: 2001::5 is in a range above"},
		{"a large ASN", "2.0.0.0,2.0.0.1,4294967296,x\n", "x:1: want FIRST,LAST"},
		{"reversed addresses", "2.0.0.1,2.0.0.0,1,x\n", "x:1: the range ends at 2.0.0.0"},
		{"overlapping ASNs", "2.0.0.0,2.0.0.5,1,x\n2.0.0.5,2.0.0.9,1,x\n", "x:2: 2.0.0.5 is in a range above"},
		{"no country", "1,2,\n", "x:1: want a country code"},
		{"a column more", "1,2,FI,x\n", `x:1: want FIRST,LAST,COUNTRY, not "1,2,FI,x"`},
		{"a column less", "1,2\n", `x:1: want FIRST,LAST,COUNTRY, not "1,2"`},
		{"too large a number", "1,4294967296,FI\n", "x:1: want an IPv4 address"},
		{"a sign", "+1,2,FI\n", "x:1: want an IPv4 address"},
		{"IPv4 that ends in IPv6", "1,2001::,FI\n", "x:1: want an IPv4 address"},
		{"IPv6 that ends in IPv4", "2001::,2,FI\n", "x:1: want an IPv6 address"},
		{"cut within a line", "1,2,FI\n3,4,S", "x ends within a line"},
		{"cut before the end of a line", "1,2,FI\n3,4,SE", "x ends within a line"},
		{"zeros", "1,2,FI\n\x00\x00\n", "x:2: want FIRST"},
		{"countries among ASNs", "1,2,3,x\n4,5,FI,x\n", "x:2: want the number of an autonomous system"},
		{"ASNs among countries", "1,2,FI\n4,5,6\n", "x:2: want a country code"},
		{"an ASN with letters", "2.0.0.0,2.0.0.1,1,x\n2.0.0.2,2.0.0.2,AS1,x\n", "x:2: want the number of an autonomous system"},
		{"a comma in a name", "2.0.0.0,2.0.0.1,1,a,b\n", "x:1: want FIRST,LAST,ASN,NAME"},
		{"a name not closed", "2.0.0.0,2.0.0.1,1,\"a\n", "x: "},
		{"a quote within", "2.0.0.0,2.0.0.1,1,\"a\"b\"\n", "x: parse error on line 1"},
		{"a name on two lines", "1,2,3,\"a\nb\"\n", "x:1: the row ends on another line"},
	} {
		var b Builder
		err := b.Read([]byte(c.text), Source{Name: "x"})
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
		if _, err := b.Build(); err == nil {
			t.Errorf("%s: a table was built of it", c.name)
		}
	}
}

// Published files have a few invalid rows. One in a thousand is skipped and counted: an
// unassigned code is unknown, and addresses that two rows have are the first's.
func TestFewInvalidRowsAreSkipped(t *testing.T) {
	var text strings.Builder
	for i := range 2 * rowsPerSkipped {
		switch i {
		case 10:
			fmt.Fprintf(&text, "%d,%d,QQ\n", i<<24>>16, i<<24>>16+255)
		case 20:
			fmt.Fprintf(&text, "%d,%d,SE\n", i*256-1, i*256+255) // one address of the row above
		default:
			fmt.Fprintf(&text, "%d,%d,FI\n", i*256, i*256+255)
		}
	}
	source := text.String()
	var b Builder
	if err := b.ReadCSV(strings.NewReader(source), Source{Name: "x"}); err != nil {
		t.Fatal(err)
	}
	if s := b.table.sources[0]; s.Skipped != 2 || s.Rows != 2*rowsPerSkipped {
		t.Errorf("%+v", s)
	}
	for n, want := range map[v4]string{10*256 - 1: "FI", 10 * 256: "", 11*256 - 1: "", 11 * 256: "FI", 20*256 - 1: "FI", 20 * 256: "SE", 21*256 - 1: "SE", 21 * 256: "FI"} {
		if got := b.table.v4.country.at(n).String(); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
	var one Builder
	err := one.ReadCSV(strings.NewReader(source+"4000000000,4000000000,QR\n1,2,FI\n"), Source{Name: "x"})
	if err == nil || !strings.HasPrefix(err.Error(), "x:11: no country") {
		t.Errorf("more of them: %v, want the first", err)
	}
}

func TestNoTwoSourcesSayTheSame(t *testing.T) {
	var b Builder
	if err := b.ReadCSV(strings.NewReader(torV4), Source{Name: "one"}); err != nil {
		t.Fatal(err)
	}
	if err := b.ReadCSV(strings.NewReader(torV4), Source{Name: "two"}); err == nil || err.Error() != "two has countries of IPv4, as one does: give one of them" {
		t.Error(err)
	}
	for name, read := range map[string]func() error{
		"IPv6": func() error { return b.ReadCSV(strings.NewReader(torV6), Source{Name: "six"}) },
		"ASNs": func() error { return b.ReadCSV(strings.NewReader(asnV4), Source{Name: "asn"}) },
	} {
		if err := read(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzReadCSV(f *testing.F) {
	f.Add(torV4)
	f.Add(torV6 + torV4)
	f.Add(asnV4 + asnV6)
	f.Add("1,4294967295,FI\n0,1,SE\n")
	// Of what is accepted a table saves and loads.
	f.Fuzz(func(t *testing.T, text string) {
		var b Builder
		if b.ReadCSV(strings.NewReader(text), Source{Name: "x"}) != nil {
			return
		}
		table, err := b.Build()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := reload(table); err != nil {
			t.Fatal(err)
		}
	})
}
