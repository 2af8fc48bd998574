package config

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// With the defaults filled in, every example says the same as without, and there is no more to fill in.
func TestEffectiveMeansTheSame(t *testing.T) {
	t.Parallel()
	folder := filesOfExamples(t)
	texts := map[string]string{}
	for name, block := range documentedBlocks(t) {
		if !strings.Contains(name, "delegate.md") {
			texts[filepath.Join(folder, filepath.Base(name))] = whole(block)
		}
	}
	for _, pattern := range []string{"testdata/*.good.yml", "../../examples/*.yaml"} {
		for name, text := range textsOf(t, pattern) {
			texts[name] = text
		}
	}
	for name, text := range texts {
		file := filepath.Join(filepath.Dir(name), "x.yaml")
		d, err := NewDocument(file, []byte(text))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		made, err := d.Effective()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		again, err := NewDocument(file, made)
		if err != nil {
			t.Errorf("%s: %v\n%s", name, err, made)
			continue
		}
		if !reflect.DeepEqual(again.Config, d.Config) {
			t.Errorf("%s: \n got %+v\nwant %+v\n%s", name, again.Config, d.Config, made)
		}
		if twice, err := again.Effective(); err != nil || string(twice) != string(made) {
			t.Errorf("%s: %v, once:\n%stwice:\n%s", name, err, made, twice)
		}
	}
}

func TestEffective(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/least.good.yml")
	if err != nil {
		t.Fatal(err)
	}
	d := document(t, string(text)+"chains: [{name: out, functions: [{use: filter}]}] # c\n")
	made, err := d.Effective()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"version: 1\n", "realm: {zones: [foo.example], nameserver: ns.elsewhere.example.}\n", "dns: {public: 198.18.0.1:53, private: 10.0.0.1:53, verify: tcp, ", "  rest: 730s\n",
		"  host_sessions: 62500\n", "  quotas:\n    client: 100\n", "{use: filter, name: filter, priority: 100, fail: closed}", "\nmss: auto\n",
	} {
		if !strings.Contains(string(made), want) {
			t.Errorf("no %q in:\n%s", want, made)
		}
	}
	if strings.Contains(string(made), "#") || strings.Contains(string(made), "web:") {
		t.Errorf("more than is in force:\n%s", made)
	}
}
