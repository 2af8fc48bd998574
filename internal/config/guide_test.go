package config

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// head has what every configuration has to have. A page's example shows only what it is
// about: the test adds those of these lines whose key the example does not have.
const head = `interfaces: {public: [eth0], private: [eth1]}
realm: {zones: [foo.example.], nameserver: ns.foo.example.}
dns: {public: 198.18.0.1, private: 10.0.0.1}
pool: {addresses: [198.18.0.32/28]}
`

// whole makes a configuration of an example; one with interfaces of one side is of a single machine, and whole.
func whole(block string) string {
	if _, after, given := strings.Cut("\n"+block, "\ninterfaces: {"); given {
		if inside, _, _ := strings.Cut(after, "}"); !strings.Contains(inside, "private") {
			return block
		}
	}
	var added strings.Builder
	for line := range strings.Lines(head) {
		key, _, _ := strings.Cut(line, ":")
		if !strings.Contains("\n"+block, "\n"+key+":") {
			added.WriteString(line)
		}
	}
	return added.String() + block
}

// filesOfExamples is a folder that has the files which the examples name.
func filesOfExamples(t *testing.T) string {
	t.Helper()
	directory := t.TempDir()
	for name, from := range map[string]string{
		"own.bpf.o": "own.bpf.o", "only_small_pings.bpf.o": "own.bpf.o", "bad.txt": "bad.txt", "blacklist.txt": "bad.txt",
		"mail.password": "mail.password", "telegram.token": "telegram.token",
	} {
		content, err := os.ReadFile(filepath.Join("testdata", from))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(directory, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return directory
}

// documentedBlocks are the YAML blocks of the guide, and of these pages of the reference, by page and number.
func documentedBlocks(t *testing.T) map[string]string {
	t.Helper()
	pages, err := filepath.Glob("../../docs/guide/*.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := map[string]string{}
	for _, page := range append(pages, reference, "../../docs/reference/dataplane.md", "../../docs/reference/dns.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for i, block := range strings.Split(string(text), "```yaml\n")[1:] {
			block, _, _ = strings.Cut(block, "```")
			blocks[fmt.Sprintf("%s: block %d", page, i+1)] = block
		}
	}
	return blocks
}

// Each of them loads.
func TestDocumentedBlocksLoad(t *testing.T) {
	directory := filesOfExamples(t)
	found := 0
	for name, block := range documentedBlocks(t) {
		if strings.Contains(name, "delegate.md") { // parts of one file: test/e2e boots them together
			continue
		}
		found++
		if _, err := Parse(filepath.Join(directory, "block.yaml"), []byte(whole(block))); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if found < 30 {
		t.Errorf("%d blocks found", found)
	}
}

// Proof that a wrong example is found, also behind what is added.
func TestAWrongBlockDoesNotLoad(t *testing.T) {
	for _, block := range []string{"protecton: {}\n", "pool: {addresses: [198.18.0.32/28], rest: soon}\n"} {
		if _, err := Parse("testdata/block.yaml", []byte(whole(block))); err == nil {
			t.Errorf("%s loads", block)
		}
	}
}
