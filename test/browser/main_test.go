package browser

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/realmgate/realmgate/test/lab"
)

// program is the realmgate program under test.
var program string

var eventually = lab.Eventually

func TestMain(m *testing.M) {
	lab.Whole{
		Name: "browser tests", Program: &program,
		Tools: []string{"chromium", "firefox-esr", "certutil", "dnsmasq", "iptables", "javac", "nginx", "unbound", "unshare"},
	}.Main(m)
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { // #nosec G301 -- unbound and nginx read it as others
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil { // #nosec G306
		t.Fatal(err)
	}
}
