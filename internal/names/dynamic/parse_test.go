package dynamic

import (
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/names/dynamic/settings"
)

const keaHead = "address,hwaddr,client_id,valid_lifetime,expire,subnet_id,fqdn_fwd,fqdn_rev,hostname,state,user_context\n"

func read(t testing.TB, source settings.Source, text string) contents {
	t.Helper()
	r := newReader(source)
	if err := r.read(strings.NewReader(text)); err != nil {
		t.Fatal(err)
	}
	return r.contents
}

func TestParse(t *testing.T) {
	soon := time.Unix(1796040000, 0)
	for _, c := range []struct {
		source settings.Source
		line   string
		want   Lease
		fault  string // "-": it is not ours
	}{
		{settings.Dnsmasq, "1796040000 02:00:00:00:00:01 10.0.0.5 laptop 01:02:00:00:00:00:01", Lease{netip.MustParseAddr("10.0.0.5"), "laptop", "01:02:00:00:00:00:01", soon}, ""},
		{settings.Dnsmasq, "0 02:00:00:00:00:01 10.0.0.5 * *", Lease{netip.MustParseAddr("10.0.0.5"), "", "02:00:00:00:00:01", time.Time{}}, ""},
		{settings.Dnsmasq, "duid 00:01", Lease{}, "-"},
		{settings.Dnsmasq, "1796040000 1 2001:db8::5 laptop 00:01", Lease{}, "-"},
		{settings.Dnsmasq, "1796040000 02:00:00:00:00:01 10.0.0.5 laptop", Lease{}, "not 4 words"},
		{settings.Dnsmasq, "x 02:00:00:00:00:01 10.0.0.5 laptop *", Lease{}, `the expiry "x"`},
		{settings.Dnsmasq, "-1 02:00:00:00:00:01 10.0.0.5 laptop *", Lease{}, `the expiry "-1"`},
		{settings.Dnsmasq, "1 02:00:00:00:00:01 10.0.0.500 laptop *", Lease{}, `the address "10.0.0.500"`},
		{settings.Kea, "10.0.0.5,02:00:00:00:00:01,,3600,1796040000,1,0,0,laptop.home.example.,0,", Lease{netip.MustParseAddr("10.0.0.5"), "laptop.home.example.", "02:00:00:00:00:01", soon}, ""},
		{settings.Kea, "10.0.0.5,02:00:00:00:00:01,ff:01,4294967295,1796040000,1,0,0,,0,{ \"a\": 1&#x2c \"b\": 2 }", Lease{netip.MustParseAddr("10.0.0.5"), "", "ff:01", time.Time{}}, ""},
		{settings.Kea, "10.0.0.5,02:00:00:00:00:01,,0,1796040000,1,0,0,laptop,0,", Lease{netip.MustParseAddr("10.0.0.5"), "laptop", "02:00:00:00:00:01", time.Unix(0, 0)}, ""},
		{settings.Kea, "10.0.0.5,02:00:00:00:00:01,,3600,1796040000,1,0,0,laptop,2,", Lease{netip.MustParseAddr("10.0.0.5"), "laptop", "02:00:00:00:00:01", time.Unix(0, 0)}, ""},
		{settings.Kea, "10.0.0.5,02:00:00:00:00:01,,3600", Lease{}, "4 columns"},
		{settings.Kea, "::1,02:00:00:00:00:01,,3600,1796040000,1,0,0,laptop,0,", Lease{}, `the address "::1"`},
		{settings.Kea, "10.0.0.5,,,long,1796040000,1,0,0,laptop,0,", Lease{}, `the lifetime "long"`},
		{settings.Kea, "10.0.0.5,,,3600,-1,1,0,0,laptop,0,", Lease{}, `the end "-1"`},
		{settings.Kea, "10.0.0.5,,,3600,1,1,0,0,laptop,,", Lease{}, "no state"},
		{settings.Listed, "s1 10.4.0.1 # subscriber 1", Lease{Address: netip.MustParseAddr("10.4.0.1"), Name: "s1"}, ""},
		{settings.Listed, "\ts1\t10.4.0.1", Lease{Address: netip.MustParseAddr("10.4.0.1"), Name: "s1"}, ""},
		{settings.Listed, "# a line for people", Lease{}, "-"},
		{settings.Listed, "", Lease{}, "-"},
		{settings.Listed, "s1 10.4.0.1 10.4.0.2", Lease{}, "not 3 words"},
		{settings.Listed, "s1 ::1", Lease{}, `the address "::1"`},
	} {
		text := c.line + "\n"
		if c.source == settings.Kea {
			text = keaHead + text
		}
		got := read(t, c.source, text)
		switch {
		case c.fault == "" && (len(got.leases) != 1 || got.bad > 0 || got.leases[0].Name != c.want.Name || got.leases[0].Address != c.want.Address ||
			got.leases[0].Client != c.want.Client || !got.leases[0].Ends.Equal(c.want.Ends)):
			t.Errorf("%q: %+v, want %+v", c.line, got, c.want)
		case c.fault == "-" && (len(got.leases) > 0 || got.bad > 0):
			t.Errorf("%q: %+v", c.line, got)
		case c.fault != "" && c.fault != "-" && (got.bad != 1 || got.wrong == nil || !strings.Contains(got.wrong.Error(), c.fault)):
			t.Errorf("%q: %v, want %q", c.line, got.wrong, c.fault)
		}
	}
}

// One bad line loses no other, the last line of an address counts, and one that does not end yet is not read.
func TestBadLinesLoseNothing(t *testing.T) {
	c := read(t, settings.Dnsmasq, "1796040000 02:00:00:00:00:01 10.0.0.5 a *\nbad\n"+strings.Repeat("x", 3*longestLine)+"\n"+
		"1796040000 02:00:00:00:00:02 10.0.0.6 b *\n1796040000 02:00:00:00:00:03 10.0.0.5 c *\n1796040000 02:00:00:00:00:04 10.0.0.7 d")
	if len(c.leases) != 2 || c.leases[0].Name != "c" || c.leases[1].Name != "b" || c.bad != 2 || !strings.HasPrefix(c.wrong.Error(), "line 2: ") {
		t.Errorf("%+v", c)
	}
	if c := read(t, settings.Listed, "a 10.0.0.1\nb 10.0.0.1\nc 10.0.0.3"); len(c.leases) != 2 || c.leases[0].Name != "a" || c.leases[1].Name != "c" || c.bad != 1 {
		t.Errorf("%+v", c)
	}
	if err := newReader(settings.Kea).read(strings.NewReader("no header\n")); err == nil || !strings.Contains(err.Error(), "no column address") {
		t.Errorf("%v", err)
	}
}

// Kea's cleanup takes the file away and leaves what was in it beside it: no reading has fewer leases for that.
func TestKeaCleanup(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "leases.csv")
	put := func(suffix string, leases ...string) {
		t.Helper()
		text := keaHead
		for _, l := range leases {
			name, address, _ := strings.Cut(l, "@")
			text += address + ",02:00:00:00:00:01,,3600,1796040000,1,0,0," + name + ",0,\n"
		}
		if err := os.WriteFile(path+suffix, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	seen := func() string {
		t.Helper()
		c, _, err := readFiles(settings.Kea, path)
		if err != nil {
			t.Fatal(err)
		}
		var list []string
		for _, l := range c.leases {
			list = append(list, l.Name+"@"+l.Address.String())
		}
		return strings.Join(list, " ")
	}
	if _, _, err := readFiles(settings.Kea, path); err == nil || !strings.Contains(err.Error(), "is not there") {
		t.Errorf("no file: %v", err)
	}
	put("", "a@10.0.0.1", "b@10.0.0.2")
	if got := seen(); got != "a@10.0.0.1 b@10.0.0.2" {
		t.Errorf("%s", got)
	}
	put(keaBusy, "a@10.0.0.1", "b@10.0.0.2") // the server has moved it away,
	put("", "c@10.0.0.3")                    // and goes on
	if got := seen(); got != "a@10.0.0.1 b@10.0.0.2 c@10.0.0.3" {
		t.Errorf("%s", got)
	}
	put(keaPast, "z@10.0.0.1", "y@10.0.0.9")
	if got := seen(); got != "a@10.0.0.1 y@10.0.0.9 b@10.0.0.2 c@10.0.0.3" {
		t.Errorf("%s", got)
	}
	put(keaCleaned, "a@10.0.0.1", "b@10.0.0.2", "y@10.0.0.9") // it is cleaned up, and the others are about to go
	put(keaBusy, "wrong@10.0.0.1")
	if got := seen(); got != "a@10.0.0.1 b@10.0.0.2 y@10.0.0.9 c@10.0.0.3" {
		t.Errorf("%s", got)
	}
}

func TestFilesThatAreNone(t *testing.T) {
	folder := t.TempDir()
	if _, _, err := readFiles(settings.Listed, folder); err == nil || !strings.Contains(err.Error(), "no regular file") {
		t.Errorf("a folder: %v", err)
	}
	huge := filepath.Join(folder, "huge")
	file, err := os.Create(huge)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(file.Truncate(mostOctets+1), file.Close()); err != nil {
		t.Fatal(err)
	}
	if _, _, err := readFiles(settings.Listed, huge); err == nil || !strings.Contains(err.Error(), "octets") {
		t.Errorf("a huge file: %v", err)
	}
}

// No text makes a parser panic. What it reads is about IPv4, and of what it says a table takes no name but right below its
// zone, which is nobody's.
func FuzzLeases(f *testing.F) {
	f.Add(uint8(settings.Kea), keaHead+"10.0.1.5,02:00:00:00:00:01,,3600,1796040000,1,0,0,laptop,0,\n")
	f.Add(uint8(settings.Dnsmasq), "1796040000 02:00:00:00:00:01 10.0.1.5 laptop *\nduid 00:01\n")
	f.Add(uint8(settings.Listed), "s1 10.0.1.5 # a\nwww 10.0.1.6\n")
	f.Fuzz(func(t *testing.T, kind uint8, text string) {
		source := settings.Source(kind % 3)
		r := newReader(source)
		_ = r.read(strings.NewReader(text)) // a file that is none
		for _, l := range r.leases {
			if !l.Address.Is4() {
				t.Fatalf("%+v", l)
			}
		}
		tr := newTrial(t, realm{"www.home.example.": "a name of www"})
		tr.read(tr.e, r.contents, noon)
		tr.consistent()
		for name := range tr.e.hosts {
			label, zone, _ := strings.Cut(name.String(), ".")
			if zone != "home.example." || label == "" || label == "www" || label == "wpad" {
				t.Fatalf("%q is registered", name)
			}
		}
	})
}
