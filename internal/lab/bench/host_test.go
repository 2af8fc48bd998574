package bench

import (
	"os"
	"path/filepath"
	"testing"
)

// hostForTest puts everything back at the end of the test.
func hostForTest(t *testing.T) *Host {
	t.Helper()
	h, err := openHost(filepath.Join(t.TempDir(), "host.json"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Restore(); err != nil {
			t.Error(err)
		}
	})
	return h
}

// What a run that was killed has changed the next one puts back, as it was before the
// first change.
func TestHostAfterACrash(t *testing.T) {
	setting, record := filepath.Join(t.TempDir(), "setting"), filepath.Join(t.TempDir(), "host.json")
	if err := os.WriteFile(setting, []byte("950000\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	killed, err := openHost(record)
	if err != nil {
		t.Fatal(err)
	}
	for _, value := range []string{"995000", "-1"} {
		if err := killed.Set(setting, value); err != nil {
			t.Fatal(err)
		}
	}
	if value, err := killed.Get(setting); err != nil || value != "-1" {
		t.Fatalf("%q, %v", value, err)
	}
	if _, err := openHost(record); err != nil {
		t.Fatal(err)
	}
	if value, err := killed.Get(setting); err != nil || value != "950000" {
		t.Errorf("%q, %v", value, err)
	}
	if _, err := os.Stat(record); !os.IsNotExist(err) {
		t.Errorf("the record stays: %v", err)
	}
}
