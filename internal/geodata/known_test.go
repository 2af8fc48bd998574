package geodata

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A timer that does not find npm must not take the ASNs away by which a gateway judges, nor
// a source without IPv6 what is known of that: the table that says more stays, unless the
// user gives ASNs up.
func TestTableThatSaysMoreStays(t *testing.T) {
	const nowhere6 = "2a00::,2a00:ffff:ffff:ffff:ffff:ffff:ffff:ffff,??\n"
	country, asn := deb(t, otherV4), tgz(t, "asn.tgz", map[string]string{"package/asn-ipv4.csv": asn4, "package/asn-ipv6.csv": asn6})
	asn4only := tgz(t, "asn4.tgz", map[string]string{"package/asn-ipv4.csv": asn4, "package/asn-ipv6.csv": "2a00::,2a00::1,0,\n"})
	path := filepath.Join(t.TempDir(), "geo.table")
	full := Options{Country: deb(t, v4), ASN: asn, Table: path}
	if _, err := Make(t.Context(), full, nil); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}

	without, broken := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(broken, "npm"), []byte("#!/bin/sh\necho out of reach >&2\nexit 1\n"), 0o700); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		path string
		o    Options
		want []string // of the error
	}{
		"no npm":              {without, Options{Country: country}, []string{path + " stays, for it has ASNs of IPv4", "PATH has no npm", "install it", "--asn none"}},
		"npm that fails":      {broken, Options{Country: country}, []string{"exit status 1: out of reach", "--asn none"}},
		"no countries of v6":  {without, Options{Country: debOf(t, v4, nowhere6), ASN: asn}, []string{path + " stays, for it has countries of IPv6", "move the file away"}},
		"none of v6 nor ASNs": {without, Options{Country: debOf(t, v4, nowhere6), ASN: None}, []string{"countries of IPv6"}},
		"no countries of v4":  {without, Options{Country: deb(t, "134744072,134744072,??\n"), ASN: asn}, []string{"countries of IPv4"}},
		"no ASNs of v6":       {without, Options{Country: country, ASN: asn4only}, []string{"ASNs of IPv6", "by --asn,", "--asn none"}},
	} {
		t.Setenv("PATH", c.path)
		c.o.Table = path
		_, err := Make(t.Context(), c.o, func(text string) { t.Errorf("%s: note %s", name, text) })
		for _, want := range c.want {
			if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s: %v, want %q in one line", name, err, want)
			}
		}
		if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, before) {
			t.Errorf("%s: the table has changed: %v", name, err)
		}
	}

	given := Options{Country: country, ASN: None, Table: path}
	if _, err := Make(t.Context(), given, func(text string) { t.Errorf("note %s", text) }); err != nil {
		t.Errorf("ASNs are given up: %v", err)
	}
	if got := placeIn(t, path, "8.8.8.8"); got.Country != "SE" || got.ASN != 0 {
		t.Errorf("without ASNs 8.8.8.8 is at %+v", got)
	}
}

// What no gateway can start with is nothing to keep.
func TestDamagedTableIsReplaced(t *testing.T) {
	country := deb(t, v4)
	t.Setenv("PATH", t.TempDir())
	path := filepath.Join(t.TempDir(), "geo.table")
	write1(t, path, "realmgeo no more")
	if _, err := Make(t.Context(), Options{Country: country, Table: path}, func(string) {}); err != nil {
		t.Fatal(err)
	}
	if got := placeIn(t, path, "8.8.8.8"); got.Country != "US" {
		t.Errorf("8.8.8.8 is at %+v", got)
	}
}
