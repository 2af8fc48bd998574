package e2e

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/lab/netns"
)

// The first lines of the log say what is served, and what to delegate.
func TestLogSaysWhatToDelegate(t *testing.T) {
	t.Parallel()
	r := newRealm(t, netns.Options{Hosts: 2})
	d := r.prepare(r.Gateway, r.ID(), with(r.configuration(), "realm: {zones: [foo.example., sub.foo.example., bar.example.], nameserver: ns.foo.example.}"))
	d.run("--log-format", "json")
	eventually(t, 10*time.Second, "names are served", func() bool { return strings.Contains(d.logged(), `"msg":"serving names"`) })
	for line := range strings.Lines(d.logged()) {
		var entry map[string]any
		if err := json.Unmarshal([]byte(line), &entry); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		for key := range entry {
			if strings.ContainsAny(key, " -") {
				t.Errorf("key %q in %s", key, line)
			}
		}
		if entry["msg"] != "serving names" {
			continue
		}
		const want = "foo.example. NS ns.foo.example., bar.example. NS ns.foo.example., ns.foo.example. A 198.18.0.1"
		if entry["delegate"] != want || entry["hosts"] != 2.0 || entry["names"] != 8.0 || entry["pool_addresses"] != 16.0 {
			t.Errorf("it says %s", line)
		}
		return
	}
	t.Errorf("nothing is said of names:\n%s", d.logged())
}
