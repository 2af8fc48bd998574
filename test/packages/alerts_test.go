package packages

import (
	"os"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// guide is where an alert says what to do about it.
const guide = "https://github.com/realmgate/realmgate/blob/main/docs/guide/alerts.md#"

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Each alert has a severity, a line for people, a section of the guide, which it links, and a test. The guide has no other sections.
func TestAlertsSayWhatToDo(t *testing.T) {
	t.Parallel()
	var rules struct {
		Groups []struct {
			Rules []struct {
				Alert, Expr         string
				Labels, Annotations map[string]string
			}
		}
	}
	if err := yaml.Unmarshal([]byte(read(t, "../../packages/alerts.yaml")), &rules); err != nil {
		t.Fatal(err)
	}
	page, tests := read(t, "../../docs/guide/alerts.md"), read(t, "../../packages/alerts_test.yaml")
	alerts := 0
	for _, group := range rules.Groups {
		for _, a := range group.Rules {
			alerts++
			if s := a.Labels["severity"]; s != "critical" && s != "warning" && s != "info" {
				t.Errorf("%s has the severity %q", a.Alert, s)
			}
			if a.Expr == "" || a.Annotations["summary"] == "" || a.Annotations["runbook_url"] != guide+strings.ToLower(a.Alert) {
				t.Errorf("%s: %q, %v", a.Alert, a.Expr, a.Annotations)
			}
			if !strings.Contains(page, "\n## "+a.Alert+"\n") {
				t.Errorf("the guide does not say what to do about %s", a.Alert)
			}
			if !strings.Contains(tests, "alertname: "+a.Alert+"\n") {
				t.Errorf("nobody has tried %s", a.Alert)
			}
		}
	}
	if sections := strings.Count(page, "\n## "); alerts == 0 || sections != alerts {
		t.Errorf("%d alerts, the guide has %d sections", alerts, sections)
	}
}

// The unit lets the gateway ask whether the clock is synchronised: a call that its filter does not have ends the daemon, and
// ProtectClock= refuses this one.
func TestUnitLetsTheClockBeAsked(t *testing.T) {
	t.Parallel()
	text := read(t, unit(t))
	_, filter, _ := strings.Cut(text, "\nSystemCallFilter=")
	filter, _, _ = strings.Cut(filter, "\n")
	if !strings.Contains(filter+" ", " adjtimex ") || strings.Contains(text, "\nProtectClock=yes") {
		t.Errorf("SystemCallFilter=%s", filter)
	}
}
