package browser

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// program is the realmgate program under test.
var program string

// tools are the programs that the tests need from Debian.
var tools = []string{"chromium", "firefox-esr", "certutil", "dnsmasq", "iptables", "javac", "nginx", "unbound", "unshare"}

func TestMain(m *testing.M) {
	if missing := whatIsMissing(); missing != "" {
		if os.Getenv("CI") != "" {
			fmt.Fprintln(os.Stderr, "FAIL:", missing)
			os.Exit(1)
		}
		fmt.Println("skipped:", missing)
		return
	}
	directory, err := os.MkdirTemp("", "realmgate-browser-")
	if err != nil {
		panic(err)
	}
	if program = os.Getenv("REALMGATE_PROGRAM"); program == "" {
		program = filepath.Join(directory, "realmgate")
		build := exec.Command("go", "build", "-buildvcs=false", "-o", program, "../../cmd/realmgate")
		build.Stderr = os.Stderr
		if err := build.Run(); err != nil {
			fmt.Fprintln(os.Stderr, "building realmgate:", err)
			os.Exit(1)
		}
	}
	code := m.Run()
	_ = os.RemoveAll(directory)
	os.Exit(code)
}

func whatIsMissing() string {
	if os.Geteuid() != 0 {
		return "browser tests need root"
	}
	for _, tool := range tools {
		if _, err := exec.LookPath(tool); err != nil {
			return "browser tests need " + tool + ": run make deps"
		}
	}
	return ""
}

// eventually polls until the condition holds.
func eventually(t testing.TB, limit time.Duration, what string, condition func() bool) {
	t.Helper()
	deadline := time.Now().Add(limit)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !condition() {
		if time.Now().After(deadline) {
			t.Fatalf("after %s still not: %s", limit, what)
		}
		<-tick.C
	}
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
