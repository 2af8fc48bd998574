package geo

import (
	"bytes"
	"encoding/binary"
	"errors"
	"net/netip"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

// network is a row of a made-up MMDB file: its record is of maps, texts and uint32.
type network struct {
	prefix string
	record map[string]any
}

func inCountry(code string) map[string]any {
	return map[string]any{"country": map[string]any{"iso_code": code}}
}

// mmdbOf writes a file in MaxMind's format, with records of 32 bits.
func mmdbOf(t testing.TB, version uint16, networks ...network) []byte {
	t.Helper()
	const empty, data = 0, 1 << 30
	nodes := [][2]uint32{{}} // 0: no data; a node; or data and where its record is
	var records []byte
	for _, n := range networks {
		p := netip.MustParsePrefix(n.prefix)
		raw, bits := p.Addr().AsSlice(), p.Bits()
		if version == 6 && p.Addr().Is4() {
			raw, bits = append(make([]byte, 12), raw...), bits+96
		}
		at := uint32(0)
		for i := range bits {
			side := raw[i/8] >> (7 - i%8) & 1
			if i == bits-1 {
				nodes[at][side] = data | uint32(len(records))
				break
			}
			if nodes[at][side] == empty {
				nodes = append(nodes, [2]uint32{})
				nodes[at][side] = uint32(len(nodes) - 1)
			}
			at = nodes[at][side]
		}
		records = appendMMDB(records, n.record)
	}
	var out []byte
	for _, node := range nodes {
		for _, to := range node {
			switch {
			case to&data != 0:
				to = to&^data + uint32(len(nodes)) + 16
			case to == empty:
				to = uint32(len(nodes))
			}
			out = binary.BigEndian.AppendUint32(out, to)
		}
	}
	out = append(append(out, make([]byte, 16)...), records...)
	out = append(out, "\xab\xcd\xefMaxMind.com"...)
	return appendMMDB(out, map[string]any{
		"binary_format_major_version": uint16(2), "binary_format_minor_version": uint16(0), "build_epoch": uint32(1_780_000_000),
		"database_type": "Made-Up", "ip_version": version, "node_count": uint32(len(nodes)), "record_size": uint16(32),
		"description": map[string]any{"en": "x"},
	})
}

// appendMMDB writes a value; texts and maps are shorter than 29.
func appendMMDB(out []byte, value any) []byte {
	switch v := value.(type) {
	case string:
		return append(append(out, 2<<5|byte(len(v))), v...)
	case uint16:
		return binary.BigEndian.AppendUint16(append(out, 5<<5|2), v)
	case uint32:
		return binary.BigEndian.AppendUint32(append(out, 6<<5|4), v)
	case map[string]any:
		out = append(out, 7<<5|byte(len(v)))
		for key, inner := range v {
			out = appendMMDB(appendMMDB(out, key), inner)
		}
	}
	return out
}

func readMMDB(t testing.TB, files ...[]byte) *Table {
	t.Helper()
	var b Builder
	for _, file := range files {
		if err := b.ReadMMDB(bytes.NewReader(file), Source{Name: "x"}); err != nil {
			t.Fatal(err)
		}
	}
	table, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// A user's own file gives the same places as the others, in both families.
func TestMMDB(t *testing.T) {
	registered := map[string]any{"registered_country": map[string]any{"iso_code": "SA"}}
	both := map[string]any{"country": map[string]any{"iso_code": "SE"}, "registered_country": map[string]any{"iso_code": "SA"}}
	countries := mmdbOf(t, 6, network{"5.0.0.0/8", inCountry("FI")}, network{"6.1.0.0/16", registered}, network{"6.2.0.0/16", both},
		network{"6.3.0.0/16", map[string]any{"continent": map[string]any{"code": "EU"}}}, network{"10.0.0.0/8", inCountry("US")},
		network{"2a00::/16", inCountry("EU")}, network{"2a01::/32", inCountry("UK")})
	asns := mmdbOf(t, 6, network{"5.6.0.0/16", map[string]any{"autonomous_system_number": uint32(64500), "organization": "x"}},
		network{"2a00:1::/32", map[string]any{"autonomous_system_number": uint32(64501)}})
	table := readMMDB(t, countries, asns)
	for text, want := range map[string]Place{
		"4.255.255.255": {},
		"5.0.0.0":       {Country: "FI", Continent: "EU"},
		"5.6.255.255":   {Country: "FI", Continent: "EU", ASN: 64500},
		"6.1.2.3":       {Country: "SA", Continent: "AS"}, // where it is registered, for want of better
		"6.2.2.3":       {Country: "SE", Continent: "EU"},
		"6.3.2.3":       {},
		"10.2.3.4":      {Special: true},
		"2a00::1":       {Country: "EU", Continent: "EU"},
		"2a00:1::1":     {Country: "EU", Continent: "EU", ASN: 64501},
		"2a01::1":       {Country: "GB", Continent: "EU"},
		"2a02::1":       {},
	} {
		if got := table.Lookup(netip.MustParseAddr(text)); got != want {
			t.Errorf("%s: %+v, want %+v", text, got, want)
		}
	}
	s := table.Sources()[0]
	if s.Rows != 7 || !s.Date.Equal(time.Unix(1_780_000_000, 0)) || len(s.SHA256) != 64 {
		t.Errorf("%+v", s)
	}
}

// A file of IPv4 leaves IPv6 to another.
func TestMMDBOfIPv4(t *testing.T) {
	var b Builder
	if err := b.ReadMMDB(bytes.NewReader(mmdbOf(t, 4, network{"5.0.0.0/8", inCountry("FI")})), Source{Name: "x"}); err != nil {
		t.Fatal(err)
	}
	if err := b.ReadCSV(strings.NewReader(torV6), Source{Name: "y"}); err != nil {
		t.Error(err)
	}
	if err := b.ReadCSV(strings.NewReader(torV4), Source{Name: "z"}); err == nil {
		t.Error("two sources of countries of IPv4 were accepted")
	}
	table, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{"5.1.1.1": "FI", "2001:200::1": "JP"} {
		if got := table.Lookup(netip.MustParseAddr(text)); got.Country != want {
			t.Errorf("%s: %+v", text, got)
		}
	}
}

func TestBadMMDBIsRefused(t *testing.T) {
	whole := mmdbOf(t, 6, network{"5.0.0.0/8", inCountry("FI")})
	loop := mmdbOf(t, 6, network{"5.0.0.0/8", inCountry("FI")})
	clear(loop[8*8 : 8*9]) // a node that leads back to the first, on both sides
	for name, c := range map[string]struct {
		in   []byte
		want string
	}{
		"a web page":           {[]byte("<html>"), "x is no MMDB file"},
		"nothing":              {nil, "x is no MMDB file"},
		"cut":                  {whole[:len(whole)-40], "x is no MMDB file"},
		"without its tree":     {whole[400:], "x"},
		"a loop":               {loop, "x"},
		"neither of them":      {mmdbOf(t, 6, network{"5.0.0.0/8", map[string]any{"city": "x"}}), "x has neither country.iso_code"},
		"a code nobody has":    {mmdbOf(t, 6, network{"5.0.0.0/8", inCountry("QQ")}), "x: 5.0.0.0/8 has a code that no country has"},
		"a name for a country": {mmdbOf(t, 6, network{"5.0.0.0/8", inCountry("Finland")}), "x: 5.0.0.0/8: want a country code"},
		"another type":         {mmdbOf(t, 6, network{"5.0.0.0/8", map[string]any{"country": "FI"}}), "x: 5.0.0.0/8: "},
	} {
		var b Builder
		err := b.ReadMMDB(bytes.NewReader(c.in), Source{Name: "x"})
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if _, err := b.Build(); err == nil {
			t.Errorf("%s: a table was built of it", name)
		}
	}
	broken := errors.New("the disk is gone")
	if err := new(Builder).ReadMMDB(iotest.ErrReader(broken), Source{Name: "x"}); !errors.Is(err, broken) {
		t.Error(err)
	}
}

func FuzzReadMMDB(f *testing.F) {
	f.Add(mmdbOf(f, 4, network{"5.0.0.0/8", inCountry("FI")}))
	f.Add(mmdbOf(f, 6, network{"5.0.0.0/8", inCountry("FI")}, network{"2a00::/16", map[string]any{"autonomous_system_number": uint32(64501)}}))
	f.Fuzz(func(t *testing.T, in []byte) {
		var b Builder
		if b.ReadMMDB(bytes.NewReader(in), Source{Name: "x"}) != nil {
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
