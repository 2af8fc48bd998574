package config

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// folder has realmgate.yaml and files of realmgate.d, by their names.
func folder(t *testing.T, main string, more map[string]string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "realmgate.yaml")
	if err := os.Mkdir(filepath.Join(filepath.Dir(path), "realmgate.d"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range more {
		name = filepath.Join(filepath.Dir(path), "realmgate.d", name)
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(path, []byte(main), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func hostNamed(letter string, i int) string {
	return fmt.Sprintf("  - {name: host%s.foo.example., address: 10.0.0.%d}\n", letter, i)
}

// What several files say together is what one would.
func TestFilesJoin(t *testing.T) {
	t.Parallel()
	read, err := Read(folder(t, head+"hosts:\n"+hostNamed("a", 100), map[string]string{
		"20-late.yaml": "hosts:\n" + hostNamed("c", 102) + "protection: {blocklist: [203.0.113.0/24]}\n",
		"10-soon.yaml": "# More.\nversion: 1\nhosts:\n" + hostNamed("b", 101) + "pool: {rest: 60s, addresses: [198.18.0.64]}\nprotection: {blocklist: [198.51.100.0/24]}\n",
		"nothing.yaml": "# to be said\n", ".hidden.yaml": "nonsense", "notes.txt": "nonsense", "old.yaml~": "nonsense",
	}))
	if err != nil {
		t.Fatal(err)
	}
	one := document(t, strings.Replace(head, "[198.18.0.32/28]", "[198.18.0.32/28, 198.18.0.64], rest: 60s", 1)+
		"hosts:\n"+hostNamed("a", 100)+hostNamed("b", 101)+hostNamed("c", 102)+"protection: {blocklist: [198.51.100.0/24, 203.0.113.0/24]}\n")
	if !reflect.DeepEqual(read.Config, one.Config) {
		t.Errorf("\n got %+v\nwant %+v", read.Config, one.Config)
	}
	if d := Differences(one, read); len(d) > 0 {
		t.Errorf("they differ by %+v", d)
	}
	alone, err := Read(folder(t, head, nil))
	if err != nil || len(alone.more) > 0 {
		t.Errorf("an empty folder: %v", err)
	}
	if err := os.Remove(filepath.Join(filepath.Dir(alone.file), "realmgate.d")); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(alone.file); err != nil {
		t.Errorf("no folder: %v", err)
	}
}

// Faults have the places of both files, whichever tells them.
func TestFaultsOfSeveralFiles(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ more, want string }{
		"a value twice":      {"# x\ncapacity: 2000\n", "d/a.yaml:2: capacity: duplicate key, first given at line 5 of DIR/realmgate.yaml"},
		"in a section":       {"pool: {rest: 5s}\npool: {order: random}\n", "d/a.yaml:2: pool: duplicate key, first given at line 1"},
		"two kinds":          {"pool: [1]\n", "d/a.yaml:1: pool: duplicate key, first given at line 4 of DIR/realmgate.yaml"},
		"a name twice":       {"hosts:\n" + hostNamed("b", 101) + hostNamed("a", 102), "d/a.yaml:3: hosts[2].name: hosta.foo.example. is already used by hosts[0].name at line 7 of DIR/realmgate.yaml"},
		"an address twice":   {"hosts:\n" + hostNamed("b", 100), "d/a.yaml:2: hosts[1].address: 10.0.0.100 is already used by hosts[0].address at line 7 of DIR/realmgate.yaml"},
		"an unknown key":     {"hosts: []\nfirewall: 1\n", "d/a.yaml:2: unknown key \"firewall\""},
		"no YAML":            {"hosts:\n  - [\n", "d/a.yaml:"},
		"no mapping":         {"- hosts\n", "d/a.yaml:1: want a mapping, as in the other files"},
		"another version":    {"\nversion: 2\nnew: 1\n", "d/a.yaml:2: version: want 1"},
		"two documents":      {"hosts: []\n---\nhosts: []\n", "d/a.yaml:2: a second YAML document"},
		"a set's file there": {"sets: [{name: a, file: none.txt}]\n", "d/a.yaml:1: sets[0].file: read the set: stat DIR/none.txt"},
	} {
		path := folder(t, head+"capacity: 2000\nhosts:\n"+hostNamed("a", 100), map[string]string{"a.yaml": c.more})
		want := strings.ReplaceAll(c.want, "DIR", filepath.Dir(path))
		_, err := Read(path)
		if err == nil || !strings.Contains(err.Error(), filepath.Dir(path)+"/realmgate."+want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v\nwant %s", name, err, want)
		}
	}
	if _, err := Read(folder(t, "# nothing\n", map[string]string{"a.yaml": head})); err == nil || !strings.Contains(err.Error(), "realmgate.yaml:1: the file is empty") {
		t.Errorf("an empty file: %v", err)
	}
	many := map[string]string{}
	for i := range mostFiles + 1 {
		many[fmt.Sprintf("%d.yaml", i)] = ""
	}
	if _, err := Read(folder(t, head, many)); err == nil || !strings.Contains(err.Error(), "has 257 files, at most 256 are allowed") {
		t.Errorf("too many files: %v", err)
	}
}

// Functions are changed in the file that has their chain, and no other is written.
func TestEditOfSeveralFiles(t *testing.T) {
	t.Parallel()
	main := head + "chains:\n  - name: web # first\n    functions:\n      - {use: filter}\n"
	path := folder(t, main, map[string]string{"a.yaml": "chains:\n  - name: out # second\n    functions:\n      - {use: filter}\n"})
	d, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	before, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	next, _, err := d.Insert("out", []byte("{use: filter, name: late}"), Place{})
	if err != nil {
		t.Fatal(err)
	}
	taken, err := d.Take("out", next)
	if err != nil {
		t.Fatal(err)
	}
	if err := taken.Save(); err != nil {
		t.Fatal(err)
	}
	after, err := os.Stat(path)
	if err != nil || !os.SameFile(before, after) {
		t.Errorf("the other file was written, too: %v", err)
	}
	again, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	if order(again, "out") != "filter late" || order(again, "web") != "filter" || !strings.Contains(string(again.more[0].text), "# second\n") {
		t.Errorf("out is %s, web %s:\n%s", order(again, "out"), order(again, "web"), again.more[0].text)
	}
	if _, err := d.Remove("none", "filter"); err == nil || err.Error() != `there is no chain "none": see realmgate chain list` {
		t.Errorf("no chain: %v", err)
	}
}

// What only the machine shows has its place in a further file, too.
func TestWrongInAFurtherFile(t *testing.T) {
	t.Parallel()
	path := folder(t, head, map[string]string{"a.yaml": "# x\ninterfaces:\n  private:\n    - eth7\n"})
	d, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	for entry, want := range map[string]string{"eth7": "realmgate.d/a.yaml:4: ", "eth1": "realmgate.yaml:1: "} {
		if err := d.Wrong("interfaces", "private", entry, "it is not there"); !strings.HasPrefix(err.Error(), filepath.Dir(path)+"/"+want) {
			t.Errorf("%s: %v, want %s", entry, err, want)
		}
	}
}
