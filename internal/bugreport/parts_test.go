package bugreport

import (
	"strings"
	"testing"
)

// The key by which the kernel spreads flows is a secret: who knows it has all their packets at one queue.
func TestSysctlsHaveNoKey(t *testing.T) {
	t.Parallel()
	text, err := sysctls(t.Context())
	if err != nil || !strings.Contains(string(text), "net.core.somaxconn = ") {
		t.Fatalf("%v:\n%s", err, text)
	}
	for line := range strings.Lines(string(text)) {
		if name, _, _ := strings.Cut(line, " = "); strings.Contains(name, "key") || strings.Contains(name, "secret") {
			t.Errorf("it has %s", name)
		}
	}
}
