package page

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// program is the realmgate program that TestMain builds.
var program string

// tools are the programs that the tests need from Debian.
var tools = []string{"chromium", "curl", "dig", "nginx", "tcpdump", "unbound"}

func TestMain(m *testing.M) {
	if missing := whatIsMissing(); missing != "" {
		if os.Getenv("CI") != "" {
			fmt.Fprintln(os.Stderr, "FAIL:", missing)
			os.Exit(1)
		}
		fmt.Println("skipped:", missing)
		return
	}
	directory, err := os.MkdirTemp("", "realmgate-page-")
	if err != nil {
		panic(err)
	}
	program = filepath.Join(directory, "realmgate")
	build := exec.Command("go", "build", "-buildvcs=false", "-o", program, "../../cmd/realmgate")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "building realmgate:", err)
		os.Exit(1)
	}
	code := m.Run()
	_ = os.RemoveAll(directory)
	os.Exit(code)
}

func whatIsMissing() string {
	if os.Geteuid() != 0 {
		return "tests of the page need root"
	}
	for _, tool := range tools {
		if _, err := exec.LookPath(tool); err != nil {
			return "tests of the page need " + tool + ": run make deps"
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
