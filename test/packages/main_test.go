package packages

import (
	"fmt"
	"os"
	"testing"
)

// work holds what tests share; it goes with them.
var work string

func TestMain(m *testing.M) {
	if tree := os.Getenv(bootTree); tree != "" {
		fmt.Fprintln(os.Stderr, "boot:", boot(tree)) // it returns only if it fails
		os.Exit(1)
	}
	var err error
	if work, err = os.MkdirTemp("", "realmgate-packages-"); err != nil {
		panic(err)
	}
	code := m.Run()
	_ = os.RemoveAll(work)
	os.Exit(code)
}
