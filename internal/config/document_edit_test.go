package config

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

const above = `# The edge of foo.
interfaces: {public: [eth0],   private: [eth1]} # two
realm: {zones: [foo.example.], nameserver: ns.foo.example.}

dns: {public: 198.18.0.1, private: 10.0.0.1}
pool: {addresses: [198.18.0.32/28]}
`

// layouts are chains as people write them: out has the functions filter (10) and last
// (20) in all but the last two, web none.
var layouts = map[string]string{
	"block": `chains:
  # What comes in.
  - name: web

  - name: out # what goes out
    match: {direction: out}
    functions:
      # No mail.
      - use: filter
        priority: 10 # first
        deny: [{protocol: tcp, port: 25}]

      - {use: filter, name: last, priority: 20, # the rest
          deny: [192.0.2.0/24]}
      # The end of out.
# The end.
timeouts: {udp: 200s}
`,
	"lists without indentation": `chains:
- name: out
  functions:
  - use: filter
    priority: 10
    allow:
    - 0.0.0.0/0
  - name: last
    use: filter
    priority: 20
  match:
    direction: out
- name: web
timeouts: {udp: 200s}
`,
	"one line": `timeouts: {udp: 200s}
chains: [{name: web}, {name: out, match: {direction: out}, functions: [{use: filter, priority: 10, deny: ["192.0.2.0/24"]}, {use: filter, name: 'last', priority: 20}]}]`,
	"over lines": `chains: [
  {name: out, functions: [ # ] not the end
{use: filter, priority: 10},

    {use: filter, name: last, priority: 20} # ]
  ], match: {direction: out}}, {name: web}]
timeouts: {udp: 200s}
`,
	"odd": "chains:\n  - functions:\n    - priority: 10\n      use: !!str filter\n    - priority: 20\r\n      use: filter\n      name: >-\n        last\n    name: out\n  - name: web\ntimeouts: {udp: 200s}\n",
	"empty": `chains:
  - {name: out, functions: [], match: {direction: out}}
  - name: web
timeouts: {udp: 200s}
`,
	"none": `timeouts: {udp: 200s}
chains:
  - name: web
  - name: out
    # Everything.
    match: {direction: out}`,
}

func document(t *testing.T, text string) *Document {
	t.Helper()
	d, err := NewDocument("a.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func order(d *Document, chain string) string {
	ch, _ := d.Config.Chain(chain)
	names := make([]string, len(ch.Functions))
	for i, f := range ch.Functions {
		names[i] = f.Name
	}
	return strings.Join(names, " ")
}

func mustInsert(t *testing.T, d *Document, chain, function string, place Place) *Document {
	t.Helper()
	next, _, err := d.Insert(chain, []byte(function), place)
	if err != nil {
		t.Fatal(err)
	}
	return next
}

// Functions come, move and leave however the file is written, and nothing else of it
// changes.
func TestFunctionsAreEdited(t *testing.T) {
	must := func(t *testing.T) func(*Document, error) *Document {
		return func(d *Document, err error) *Document {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
			return d
		}
	}
	five, priority := 5, 15
	for name, layout := range layouts {
		t.Run(name, func(t *testing.T) {
			begin := document(t, above+layout)
			d := mustInsert(t, begin, "out", "- use: filter\n  name: late # of a list\n  deny:\n  - {port: 25, protocol: tcp}\n", Place{})
			d = mustInsert(t, d, "web", "{use: filter, allow: [192.0.2.1]}", Place{})
			expect := func(want string) {
				t.Helper()
				if got := order(d, "out"); got != want {
					t.Errorf("the functions of out are %s, want %s:\n%s", got, want, d.text)
				}
			}
			if before := order(begin, "out"); before != "" {
				expect("filter last late")
				d = must(t)(d.Move("out", "late", Place{Before: "last"}))
				expect("filter late last")
				d = must(t)(d.Move("out", "late", Place{Before: "filter"}))
				expect("late filter last")
				d = must(t)(d.Move("out", "late", Place{After: "filter"}))
				expect("filter late last")
				d = must(t)(d.Move("out", "filter", Place{Priority: &priority}))
				expect("late filter last")
				d = must(t)(d.Move("out", "last", Place{Priority: &five}))
				expect("last late filter")
				d = must(t)(d.Remove("out", "last"))
				expect("late filter")
				d = must(t)(d.Remove("out", "filter"))
			}
			expect("late")
			saved := must(t)(begin.Take("out", d))
			d = must(t)(d.Remove("out", "late"))
			expect("")
			if order(d, "web") != "filter" || order(saved, "out") != "late" || order(saved, "web") != "" {
				t.Errorf("after all:\n%s\n%s", d.text, saved.text)
			}
			for _, kept := range []string{above, "timeouts: {udp: 200s}"} {
				if !strings.Contains(string(d.text), kept) {
					t.Errorf("%q is gone:\n%s", kept, d.text)
				}
			}
			if again := document(t, string(d.text)); !reflect.DeepEqual(again.Config, d.Config) {
				t.Errorf("the text does not say the configuration:\n%s", d.text)
			}
		})
	}
}

// What people wrote around the functions stays, byte by byte, and their own comments.
func TestEditsKeepComments(t *testing.T) {
	d := document(t, above+layouts["block"])
	d = mustInsert(t, d, "out", "# Nobody.\n{use: filter, name: nobody, deny: [{}]} # at all", Place{Before: "last"})
	const want = above + `chains:
  # What comes in.
  - name: web

  - name: out # what goes out
    match: {direction: out}
    functions:
      # No mail.
      - use: filter
        priority: 10 # first
        deny: [{protocol: tcp, port: 25}]
      # Nobody.
      - {use: filter, priority: 20, name: nobody, deny: [{}]} # at all
      - {use: filter, name: last, priority: 20, # the rest
        deny: [192.0.2.0/24]}
      # The end of out.
# The end.
timeouts: {udp: 200s}
`
	if got := string(d.text); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

// What is refused says why in the words that a file gets.
func TestEditsAreRefused(t *testing.T) {
	ten, much := 10, 70000
	insert := func(chain, function string, place Place) func(*Document) error {
		return func(d *Document) error { _, _, err := d.Insert(chain, []byte(function), place); return err }
	}
	for want, edit := range map[string]func(*Document) error{
		`there is no chain "no": see realmgate chain list`:                               insert("no", "use: filter", Place{}),
		"protection has no functions to change by command":                               insert("protection", "use: filter", Place{}),
		`FUNCTION:1: use: want filter, `:                                                 insert("out", "{use: filtre}", Place{}),
		`FUNCTION:2: unknown key "nam": did you mean name?`:                              insert("out", "use: filter\nnam: x", Place{}),
		`FUNCTION:1: the key use is missing`:                                             insert("out", "{name: x}", Place{}),
		`FUNCTION:1: not valid YAML: did not find expected node content`:                 insert("out", "{use: filter, deny: [", Place{}),
		`FUNCTION:1: it is empty: give the entry of a function`:                          insert("out", " \n", Place{}),
		`FUNCTION:1: want a mapping with the keys use, name`:                             insert("out", "[{use: filter}, {use: filter, name: x}]", Place{}),
		`FUNCTION:1: filter has no threshold: it has `:                                   insert("out", "{use: filter, threshold: 3}", Place{}),
		`FUNCTION:1: deny: aliases (*name and <<) are not read`:                          insert("out", "{use: filter, name: &a x, deny: *a}", Place{}),
		`FUNCTION is larger than`:                                                        insert("out", strings.Repeat("#", maxFile+1), Place{}),
		`FUNCTION says its place`:                                                        insert("out", "{use: filter, name: x, after: [last]}", Place{Priority: &ten}),
		`chain out: chains[1].functions[2].name: filter is the name of functions[0] too`: insert("out", "{use: filter}", Place{}),
		`chain out: chains[1].functions[2].before: the chain has no function none`:       insert("out", "{use: filter, name: x, before: [none]}", Place{}),
		`chain out: chains[1].functions: before and after of x go round in a circle`:     insert("out", "{use: filter, name: x, before: [x]}", Place{}),
		`chain out: it has no function "none": see realmgate chain show CHAIN`:           insert("out", "{use: filter, name: x}", Place{Before: "none"}),
		`chain out: chains[1].functions[2].priority: want a whole number of 0 to 65535`:  insert("out", "{use: filter, name: x}", Place{Priority: &much}),
		`chain out: chains[1].functions[0].after: the chain has no function last`:        func(d *Document) error { _, err := filterAfterLast(d).Remove("out", "last"); return err },
		`chain out: what before and after of its functions say does not let x stand there`: func(d *Document) error {
			return insert("out", "{use: filter, name: x}", Place{After: "filter"})(filterAfterLast(d))
		},
		`chain out: it has no function "last2": see realmgate chain show CHAIN`: func(d *Document) error { _, err := d.Move("out", "last2", Place{}); return err },
		`chain out: chains[1].functions: there are 11, a chain has at most 10`: func(d *Document) error {
			for _, name := range strings.Split("abcdefgh", "") {
				var err error
				if d, _, err = d.Insert("out", []byte("{use: filter, name: "+name+"}"), Place{}); err != nil {
					return err
				}
			}
			return insert("out", "{use: filter, name: i}", Place{})(d)
		},
	} {
		d := document(t, above+layouts["block"])
		if err := edit(d); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got  %v\nwant %s", err, want)
		}
		if string(d.text) != above+layouts["block"] {
			t.Fatal("a refused edit changed the text")
		}
	}
}

// filterAfterLast makes filter wait for last, which has the higher priority.
func filterAfterLast(d *Document) *Document {
	text := strings.Replace(string(d.text), "priority: 10 # first", "priority: 10\n        after: [last]", 1)
	d, err := NewDocument(d.file, []byte(text))
	if err != nil {
		panic(err)
	}
	return d
}

// FuzzEdit: whatever is accepted can be edited, or is refused; what comes and leaves
// again leaves no trace.
func FuzzEdit(f *testing.F) {
	files, err := filepath.Glob("testdata/*.good.yml")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	for _, layout := range layouts {
		f.Add([]byte(above + layout))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		begin, err := NewDocument("a.yaml", data)
		if err != nil {
			return
		}
		c := begin.Config
		for _, ch := range c.Chains {
			d, name, err := begin.Insert(ch.Name, []byte("{use: filter, name: of-the-fuzzer}"), Place{})
			if err != nil {
				continue // more than a chain may have, or an unusual text
			}
			if name != "of-the-fuzzer" || !slices.Contains(strings.Fields(order(d, ch.Name)), name) {
				t.Fatalf("%q in %q", name, order(d, ch.Name))
			}
			if d, err = d.Remove(ch.Name, name); err != nil {
				t.Fatal(err)
			}
			for i := range d.Config.Chains { // an empty list is none
				if len(d.Config.Chains[i].Functions) == 0 {
					d.Config.Chains[i].Functions = c.Chains[i].Functions
				}
			}
			if !reflect.DeepEqual(d.Config, c) {
				t.Fatalf("got %+v\nwant %+v\n%s", d.Config, c, d.text)
			}
		}
	})
}

// An edit does not read the files of sets again: what they have is what is in force, and
// a function can be taken out while one is gone.
func TestEditsKeepSets(t *testing.T) {
	folder := t.TempDir()
	set := filepath.Join(folder, "bad.txt")
	if err := os.WriteFile(set, []byte("192.0.2.0/24\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	text := above + "sets: [{name: bad, file: bad.txt}]\nchains: [{name: out, functions: [{use: filter, deny: [{set: bad}]}, {use: mirror}]}]\n"
	d, err := NewDocument(filepath.Join(folder, "it.yaml"), []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(set); err != nil {
		t.Fatal(err)
	}
	next, err := d.Remove("out", "mirror")
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(next.Config.Sets, d.Config.Sets) || len(next.Config.Chains[0].Functions) != 1 {
		t.Errorf("sets %v and chains %+v, want the set as it was and one function", next.Config.Sets, next.Config.Chains)
	}
}
