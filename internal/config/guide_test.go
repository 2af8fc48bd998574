package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// head is what a configuration has to have; the pages below show what is added to it.
const head = `interfaces: {public: [eth0], private: [eth1]}
realm: {zones: [foo.example.], nameserver: ns.foo.example.}
dns: {public: 198.18.0.1, private: 10.0.0.1}
pool: {addresses: [198.18.0.32/28]}
`

// Every YAML block of the pages for those who come from elsewhere loads when it is added to
// a configuration that has what it has to.
func TestAddedBlocksLoad(t *testing.T) {
	for _, page := range []string{"from-fail2ban.md", "from-ipt-geofence.md", "from-ipset.md"} {
		text, err := os.ReadFile("../../docs/guide/" + page)
		if err != nil {
			t.Fatal(err)
		}
		directory := t.TempDir()
		if err := os.WriteFile(filepath.Join(directory, "blacklist.txt"), []byte("198.51.100.0/24\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		blocks := strings.Split(string(text), "```yaml\n")[1:]
		if len(blocks) == 0 {
			t.Errorf("no YAML block found in %s", page)
		}
		for i, block := range blocks {
			block, _, _ = strings.Cut(block, "```")
			if _, err := Parse(filepath.Join(directory, "block.yaml"), []byte(head+block)); err != nil {
				t.Errorf("%s: block %d: %v", page, i+1, err)
			}
		}
	}
}
