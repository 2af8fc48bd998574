package config

import (
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/realmgate/realmgate/internal/model"
	realm "github.com/realmgate/realmgate/internal/names/realm/settings"
	"github.com/realmgate/realmgate/internal/nf/functions"
	"github.com/realmgate/realmgate/internal/schema"
)

const reference = "../../docs/reference/configuration.md"

func TestExampleLoads(t *testing.T) {
	c, err := load("../../examples/realmgate.yaml")
	if err != nil {
		t.Fatal(err)
	}
	checkRoundTrip(t, c)
	want := realm.Hosts{{
		Name: "hosta.foo.example.", Address: netip.MustParseAddr("10.0.0.100"),
		Open: ports("tcp/22", "icmp"), Services: []realm.Service{{
			Names: []model.Name{"www.hosta.foo.example.", "foo.example.", "*.shop.foo.example."}, Ports: ports("tcp/80:8080", "tcp/443", "udp/443"),
		}},
	}}
	if !reflect.DeepEqual(c.Hosts, want) || len(c.Pool.Addresses) != 16 {
		t.Errorf("got hosts %+v and %d pool addresses", c.Hosts, len(c.Pool.Addresses))
	}
}

// row is one key as the reference shows it, without its meaning.
type row struct{ kind, standard, allowed string }

// The reference lists every key of the schema and no other, with its type,
// default and range.
func TestReferenceMatchesSchema(t *testing.T) {
	text, err := os.ReadFile(reference)
	if err != nil {
		t.Fatal(err)
	}
	documented := readRows(t, string(text))
	for word, page := range functionPages(t) {
		for key, r := range readRows(t, page) {
			documented["chains[].functions["+word+"]."+key] = r
		}
	}
	keys := make(map[string]row)
	collectRows(keys, "", schema.Keys(new(Config).drafts(nil)))
	compare(documented, keys, t.Errorf)
}

// Proof that the comparison can fail.
func TestReferenceComparisonFails(t *testing.T) {
	good := map[string]row{"a": {"number", "1", "0 to 9"}}
	for name, documented := range map[string]map[string]row{
		"missing": {},
		"surplus": {"a": good["a"], "b": good["a"]},
		"range":   {"a": {"number", "1", "0 to 8"}},
	} {
		failed := 0
		compare(documented, good, func(string, ...any) { failed++ })
		if failed != 1 {
			t.Errorf("%s: %d differences found, want 1", name, failed)
		}
	}
}

// compare reports every difference once.
func compare(documented, schema map[string]row, report func(string, ...any)) {
	for path, want := range schema {
		if got, ok := documented[path]; !ok {
			report("%s is not in the reference: | `%s` | %s | %s | %s | … |", path, path, want.kind, want.standard, want.allowed)
		} else if got != want {
			report("%s: the reference has %+v, the schema %+v", path, got, want)
		}
	}
	for path := range documented {
		if _, ok := schema[path]; !ok {
			report("%s is in the reference, not in the schema", path)
		}
	}
}

// readRows reads the table rows "| `key` | type | default | allowed | meaning |".
func readRows(t *testing.T, text string) map[string]row {
	t.Helper()
	rows := make(map[string]row)
	for line := range strings.Lines(text) {
		cells := strings.Split(strings.TrimSpace(line), " | ")
		path, isKey := strings.CutPrefix(cells[0], "| `")
		if !isKey {
			continue
		}
		path = strings.TrimSuffix(path, "`")
		if len(cells) != 5 || len(cells[4]) < 10 {
			t.Errorf("%s: want five cells, the last a sentence: %q", path, line)
			continue
		}
		if _, twice := rows[path]; twice {
			t.Errorf("%s is listed twice", path)
		}
		rows[path] = row{cells[1], cells[2], cells[3]}
	}
	return rows
}

// folderOf is where a function has its page.
func folderOf(word string) string {
	if word == "a function of your own" {
		return "object"
	}
	return strings.ReplaceAll(word, "-", "")
}

// functionPages are those of the folders of functions.
func functionPages(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("../nf/*/README.md")
	if err != nil || len(files) < len(functions.All) {
		t.Fatalf("%d functions have pages: %v", len(files), err)
	}
	pages := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		pages[filepath.Base(filepath.Dir(file))] = string(text)
	}
	return pages
}

func collectRows(rows map[string]row, above string, keys []schema.Key) {
	for _, k := range keys {
		if k.Foreign {
			continue
		}
		if k.Variant { // functions[] → functions[filter]
			collectRows(rows, strings.TrimSuffix(above, "[]")+"["+folderOf(k.Name)+"]", k.Keys)
			continue
		}
		path := schema.Join(above, k.Name)
		r := row{k.Kind, k.Standard, k.Allowed}
		switch {
		case k.Required:
			r.standard = "required"
		case r.standard == "":
			r.standard = "–"
		}
		if r.allowed == "" {
			r.allowed = "–"
		}
		rows[path] = r
		if strings.HasPrefix(k.Kind, "list of") && len(k.Keys) > 0 {
			path += "[]"
		}
		collectRows(rows, path, k.Keys)
	}
}
