package lab

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// Whole is what a package needs that tests whole gateways.
type Whole struct {
	Name    string       // of its tests, as errors have it
	Tools   []string     // programs of Debian's
	Prepare func() error // what comes before the first test; nil: nothing
	Program *string      // gets the path of realmgate, or that of REALMGATE_PROGRAM
}

// Main builds realmgate, runs the package's tests, and ends the process. Without root or a tool they are skipped, or fail where
// CI is set.
func (w Whole) Main(m *testing.M) {
	if missing := w.missing(); missing != "" {
		if os.Getenv("CI") != "" {
			fmt.Fprintln(os.Stderr, "FAIL:", missing)
			os.Exit(1)
		}
		fmt.Println("skipped:", missing)
		os.Exit(0)
	}
	if w.Prepare != nil {
		if err := w.Prepare(); err != nil {
			panic(err)
		}
	}
	directory, err := os.MkdirTemp("", "realmgate-test-")
	if err == nil {
		err = os.Chmod(directory, 0o755) // #nosec G302 -- users run what is in it
	}
	if err != nil {
		panic(err)
	}
	if *w.Program = os.Getenv("REALMGATE_PROGRAM"); *w.Program == "" {
		*w.Program = filepath.Join(directory, "realmgate")
		build := exec.Command("go", "build", "-buildvcs=false", "-o", *w.Program, "github.com/realmgate/realmgate/cmd/realmgate") // #nosec G204
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

func (w Whole) missing() string {
	if os.Geteuid() != 0 {
		return w.Name + " need root"
	}
	for _, tool := range w.Tools {
		if _, err := exec.LookPath(tool); err != nil {
			return w.Name + " need " + tool + ": run make deps"
		}
	}
	return ""
}

const looksAgain = 20 * time.Millisecond

// Eventually polls until the condition holds.
func Eventually(t testing.TB, limit time.Duration, what string, condition func() bool) {
	t.Helper()
	deadline := time.Now().Add(limit)
	tick := time.NewTicker(looksAgain)
	defer tick.Stop()
	for !condition() {
		if time.Now().After(deadline) {
			t.Fatalf("after %s still not: %s", limit, what)
		}
		<-tick.C
	}
}
