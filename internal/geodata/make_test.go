package geodata

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/guard/geo"
)

const (
	countries = "134744072,134744072,US\n" + // 8.8.8.8
		"2a00::,2a00:ffff:ffff:ffff:ffff:ffff:ffff:ffff,FI\n"
	others = "8.8.8.8,8.8.8.8,SE\n2a00::,2a00::1,FI\n"
	asns   = "8.8.8.8,8.8.8.8,15169,Somebody\n2a00::,2a00::1,64500,\"Some, body\"\n"
)

// source is a file of this text.
func source(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "some source.csv")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func zipped(t *testing.T, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write([]byte(text)); err != nil || z.Close() != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func sum(text string) string { return fmt.Sprintf("#sha256=%X", sha256.Sum256([]byte(text))) }

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

// A table is made of files and of what servers have; one that cannot be made leaves the one
// before, and nothing beside it.
func TestMake(t *testing.T) {
	asked := ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked = r.URL.Path; r.URL.Path != "/asn.csv.gz" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Last-Modified", "Thu, 25 Jun 2026 04:33:59 GMT")
		_, _ = w.Write(zipped(t, asns)) // the test sees what comes of it
	}))
	t.Cleanup(server.Close)
	remote := server.URL + "/asn.csv.gz"
	path := filepath.Join(t.TempDir(), "of", "geo.table")
	table, err := Make(t.Context(), path, []string{source(t, countries) + sum(countries), remote + sum(asns)})
	if err != nil {
		t.Fatal(err)
	}
	made := table.Sources()
	if len(made) != 2 || made[1].Name != remote || !made[1].Date.Equal(time.Date(2026, 6, 25, 4, 33, 59, 0, time.UTC)) || made[0].Date.IsZero() {
		t.Errorf("made of %+v", made)
	}
	want := geo.Place{Country: "US", Continent: "NA", ASN: 15169}
	if got := placeIn(t, path, "8.8.8.8"); got != want {
		t.Errorf("8.8.8.8 is at %+v, want %+v", got, want)
	}
	if got := placeIn(t, path, "2a00::1"); got != (geo.Place{Country: "FI", Continent: "EU", ASN: 64500}) {
		t.Errorf("2a00::1 is at %+v", got)
	}
	for what, c := range map[string]struct{ source, path, want string }{
		"a bad source":            {source(t, "<html>\n"), path, "some source.csv is a web page"},
		"a missing file":          {"nowhere.csv", path, "nowhere.csv"},
		"a missing page":          {server.URL + "/none", path, server.URL + "/none: the server answered 404"},
		"an unknown scheme":       {"ftp://lists.example/a", path, "want http://"},
		"another checksum":        {remote + sum(countries), path, "asn.csv.gz: its data has SHA-256 "},
		"another file's checksum": {source(t, countries) + sum(others), path, "some source.csv: its data has SHA-256 "},
		"an empty checksum":       {remote + "#sha256=", path, "want one"},
		"no place for it":         {source(t, countries), filepath.Join(path, "under"), "make the folder of the table"},
	} {
		if _, err := Make(t.Context(), c.path, []string{c.source}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", what, err, c.want)
		}
	}
	if asked != "/asn.csv.gz" && asked != "/none" {
		t.Errorf("the server was asked for %s", asked)
	}
	if got := placeIn(t, path, "8.8.8.8"); got != want {
		t.Errorf("after what failed 8.8.8.8 is at %+v", got)
	}
	if _, err := Make(t.Context(), path, []string{source(t, others), remote}); err != nil || placeIn(t, path, "8.8.8.8").Country != "SE" {
		t.Errorf("made anew: %v", err)
	}
	if files, err := os.ReadDir(filepath.Dir(path)); err != nil || len(files) != 1 {
		t.Errorf("beside the table are %v, %v", files, err)
	}
}

// A timer whose source has less than the last time must not take away by what a gateway
// judges: the table that says more stays.
func TestTableThatSaysMoreStays(t *testing.T) {
	path := filepath.Join(t.TempDir(), "geo.table")
	if _, err := Make(t.Context(), path, []string{source(t, countries), source(t, asns)}); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for what, sources := range map[string][]string{
		"ASNs of IPv4":      {others},
		"ASNs of IPv6":      {others, "8.8.8.8,8.8.8.8,15169,Somebody\n"},
		"countries of IPv4": {"2a00::,2a00::1,FI\n", asns},
		"countries of IPv6": {"8.8.8.8,8.8.8.8,SE\n", asns},
	} {
		var files []string
		for _, text := range sources {
			files = append(files, source(t, text))
		}
		_, err := Make(t.Context(), path, files)
		if err == nil || !strings.Contains(err.Error(), path+" stays, for it has "+what) || !strings.Contains(err.Error(), "move the file away") {
			t.Errorf("without %s: %v", what, err)
		}
		if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, before) {
			t.Errorf("without %s the table has changed: %v", what, err)
		}
	}
}

// What no gateway can start with is nothing to keep.
func TestDamagedTableIsReplaced(t *testing.T) {
	path := source(t, "realmgeo no more")
	if _, err := Make(t.Context(), path, []string{source(t, countries)}); err != nil {
		t.Fatal(err)
	}
	if got := placeIn(t, path, "8.8.8.8"); got.Country != "US" {
		t.Errorf("8.8.8.8 is at %+v", got)
	}
}
