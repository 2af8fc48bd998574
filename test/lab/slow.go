package lab

import (
	"os"
	"testing"
)

// Slow says whether tests may take many minutes: in those parts of tools/test.sh that set REALMGATE_SLOW.
func Slow() bool { return os.Getenv("REALMGATE_SLOW") != "" }

// SlowOnly skips a test everywhere else. By how the text begins, tools/testsummary lists it, and CI allows it.
func SlowOnly(t testing.TB) {
	t.Helper()
	if !Slow() {
		t.Skip("slow tier: REALMGATE_SLOW is not set; make test-slow sets it")
	}
}
