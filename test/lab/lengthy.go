package lab

import (
	"os"
	"testing"
)

// Lengthy says whether tests may take many minutes: in those parts of tools/test.sh that set REALMGATE_LENGTHY.
func Lengthy() bool { return os.Getenv("REALMGATE_LENGTHY") != "" }

// LengthyOnly skips a test everywhere else. By how the text begins, tools/testsummary lists it, and CI allows it.
func LengthyOnly(t testing.TB) {
	t.Helper()
	if !Lengthy() {
		t.Skip("lengthy: runs in a slow part of its own; make test-slow")
	}
}
