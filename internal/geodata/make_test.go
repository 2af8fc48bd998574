package geodata

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/realmgate/realmgate/internal/guard/geo"
)

const (
	v4        = "134744072,134744072,US\n" // 8.8.8.8
	v6        = "2a00::,2a00:ffff:ffff:ffff:ffff:ffff:ffff:ffff,FI\n"
	asn4      = "8.8.8.8,8.8.8.8,15169,Somebody\n"
	asn6      = "2a00::,2a00::1,64500,\"Some, body\"\n"
	otherV4   = "134744072,134744072,SE\n"
	badInside = "<html>\n"
)

func write1(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { //nolint:gosec // dpkg-deb wants it so
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// deb is a package as Debian's tools make it, of these countries of IPv4.
func deb(t *testing.T, geoip string) string {
	t.Helper()
	return debOf(t, geoip, v6)
}

func debOf(t *testing.T, geoip, geoip6 string) string {
	t.Helper()
	if _, err := exec.LookPath("dpkg-deb"); err != nil {
		t.Skip("needs dpkg-deb, of Debian's package dpkg")
	}
	root := t.TempDir()
	write1(t, filepath.Join(root, "it/DEBIAN/control"), "Package: tor-geoipdb\nVersion: 1\nArchitecture: all\nMaintainer: nobody <nobody@example>\nDescription: a test's\n")
	write1(t, filepath.Join(root, "it/usr/share/tor/geoip"), geoip)
	write1(t, filepath.Join(root, "it/usr/share/tor/geoip6"), geoip6)
	path := filepath.Join(root, "tor-geoipdb_1_all.deb")
	if out, err := exec.Command("dpkg-deb", "--build", filepath.Join(root, "it"), path).CombinedOutput(); err != nil { //nolint:gosec // our own words
		t.Fatalf("dpkg-deb: %v: %s", err, out)
	}
	return path
}

func tgz(t *testing.T, name string, files map[string]string) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for name, text := range files {
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(text))}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), name)
	write1(t, path, b.String())
	return path
}

func placeIn(t *testing.T, path, address string) geo.Place {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	table, err := geo.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	return table.Lookup(netip.MustParseAddr(address))
}

// A table is made of both packages; one that cannot be made leaves the one before, and
// nothing beside it.
func TestMake(t *testing.T) {
	asn := tgz(t, "asn.tgz", map[string]string{"package/asn-ipv4.csv": asn4, "package/asn-ipv6.csv": asn6})
	path := filepath.Join(t.TempDir(), "of", "geo.table")
	o := Options{Country: deb(t, v4), ASN: asn, Table: path}
	note := func(text string) { t.Errorf("note: %s", text) }
	table, err := Make(t.Context(), o, note)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(table.Sources()); n != 4 {
		t.Errorf("%d sources", n)
	}
	want := geo.Place{Country: "US", Continent: "NA", ASN: 15169}
	if got := placeIn(t, path, "8.8.8.8"); got != want {
		t.Errorf("8.8.8.8 is at %+v, want %+v", got, want)
	}
	if got := placeIn(t, path, "2a00::1"); got != (geo.Place{Country: "FI", Continent: "EU", ASN: 64500}) {
		t.Errorf("2a00::1 is at %+v", got)
	}
	for what, c := range map[string]struct {
		o    Options
		want string
	}{
		"a bad source":    {Options{Country: deb(t, badInside), ASN: asn, Table: path}, "usr/share/tor/geoip"},
		"a missing file":  {Options{Country: "nowhere.deb", ASN: asn, Table: path}, "nowhere.deb"},
		"no known ending": {Options{Country: asn + ".zip", ASN: asn, Table: path}, "no such file"},
		"a strange file":  {Options{Country: tgz(t, "geoip.zip", nil), ASN: asn, Table: path}, "want a .deb of tor-geoipdb"},
		"half a package":  {Options{Country: o.Country, ASN: tgz(t, "asn.tgz", map[string]string{"package/asn-ipv4.csv": asn4}), Table: path}, "asn-ipv6.csv"},
		"no place for it": {Options{Country: o.Country, ASN: asn, Table: filepath.Join(path, "under")}, "make the folder of the table"},
	} {
		if _, err := Make(t.Context(), c.o, note); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", what, err, c.want)
		}
	}
	if got := placeIn(t, path, "8.8.8.8"); got != want {
		t.Errorf("after what failed 8.8.8.8 is at %+v", got)
	}
	o.Country = deb(t, otherV4)
	if _, err := Make(t.Context(), o, note); err != nil || placeIn(t, path, "8.8.8.8").Country != "SE" {
		t.Errorf("made anew: %v", err)
	}
	if files, err := os.ReadDir(filepath.Dir(path)); err != nil || len(files) != 1 {
		t.Errorf("beside the table are %v, %v", files, err)
	}
}

// Without what fetches packages the user is told what to give instead, and ASNs are left
// out.
func TestMakeWithoutPackageManagers(t *testing.T) {
	country := deb(t, v4)
	t.Setenv("PATH", t.TempDir())
	path := filepath.Join(t.TempDir(), "geo.table")
	if _, err := Make(t.Context(), Options{Table: path}, nil); err == nil || !strings.Contains(err.Error(), "by --country") {
		t.Errorf("without apt-get: %v", err)
	}
	var said []string
	if _, err := Make(t.Context(), Options{Country: country, Table: path}, func(text string) { said = append(said, text) }); err != nil {
		t.Fatal(err)
	}
	if len(said) != 1 || !strings.Contains(said[0], "by --asn") {
		t.Errorf("said %v", said)
	}
	if got := placeIn(t, path, "8.8.8.8"); got != (geo.Place{Country: "US", Continent: "NA"}) {
		t.Errorf("8.8.8.8 is at %+v", got)
	}
}

// What a package manager complains about is told, by its first line that is no warning.
func TestFetchTellsWhatWentWrong(t *testing.T) {
	directory := t.TempDir()
	if _, err := fetch(t.Context(), directory, "*.deb", "sh", "-c", "echo W: old >&2; echo it is gone >&2; echo more >&2; exit 3"); err == nil || !strings.Contains(err.Error(), "exit status 3: it is gone") {
		t.Errorf("a failure: %v", err)
	}
	if _, err := fetch(t.Context(), directory, "*.deb", "sh", "-c", "exit 0"); err == nil || !strings.Contains(err.Error(), "0 files") {
		t.Errorf("nothing: %v", err)
	}
}
