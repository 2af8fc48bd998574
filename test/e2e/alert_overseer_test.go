package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/realmgate/realmgate/internal/lab/netns"
)

// overseer is a Prometheus that reads several gateways.
type overseer struct {
	t      *testing.T
	client http.Client
}

// watchOver has it on a gateway's machine, which leads it to the APIs of all.
func watchOver(t *testing.T, at *realm, daemons ...*daemon) *overseer {
	t.Helper()
	folder := t.TempDir()
	own, err := os.ReadFile(packages + "alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	copied := strings.NewReplacer("[5m]", "[30s]", "[10m]", "[1m]", "labels: {", "labels: {windows: "+tenth+", ").Replace(string(own))
	rules := filepath.Join(folder, "tenth.yaml")
	if err := os.WriteFile(rules, []byte(copied), 0o600); err != nil {
		t.Fatal(err)
	}
	scrapes := ""
	for i, d := range daemons {
		secret, err := d.gateway.Command(context.Background(), program, "token", "create", "prometheus", "--role", "read", "--instance", d.instance).Output()
		if err != nil {
			t.Fatal(err)
		}
		token, port := filepath.Join(folder, fmt.Sprint("token", i)), 9471+i
		if err := os.WriteFile(token, secret, 0o600); err != nil {
			t.Fatal(err)
		}
		accepts(t, netns.Node{Namespace: at.Gateway.Namespace, IP: netip.MustParseAddr("127.0.0.1")}, port, d.relay)
		text, err := os.ReadFile(d.config)
		if err != nil {
			t.Fatal(err)
		}
		scheme := "http"
		if strings.Contains(string(text), "certificate:") {
			scheme = "https"
		}
		scrapes += fmt.Sprintf(`  - job_name: realmgate%d
    scrape_interval: 2s
    scrape_timeout: 2s
    scheme: %s
    tls_config: {insecure_skip_verify: true}
    authorization: {credentials_file: %s}
    static_configs: [{targets: ["127.0.0.1:%d"], labels: {instance: %s, job: realmgate}}]
`, i, scheme, token, port, d.instance)
	}
	at.prometheus(scrapes, rules)
	return &overseer{t, http.Client{Transport: &http.Transport{DialContext: at.Gateway.DialContext}}}
}

// relay leads a connection to the gateway's API on its own machine.
func (d *daemon) relay(near net.Conn) {
	defer near.Close()
	far, err := d.gateway.DialContext(context.Background(), "tcp4", "127.0.0.1:9470")
	if err != nil {
		return
	}
	defer far.Close()
	go func() { _, _ = io.Copy(far, near) }()
	_, _ = io.Copy(near, far)
}

// get is what Prometheus answers.
func (w *overseer) get(path string) string {
	w.t.Helper()
	answer, err := w.client.Get("http://" + prometheusAt + path)
	if err != nil {
		w.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		w.t.Fatalf("%s: %s, %v\n%s", path, answer.Status, err, text)
	}
	return string(text)
}

// raised is an alert that Prometheus has, pending or firing.
type raised struct{ Alert, Instance, Windows, State string }

// active are all that there are.
func (w *overseer) active() (all []raised) {
	w.t.Helper()
	var answer struct {
		Data struct {
			Alerts []struct {
				Labels map[string]string
				State  string
			}
		}
	}
	if err := json.Unmarshal([]byte(w.get("/api/v1/alerts")), &answer); err != nil {
		w.t.Fatal(err)
	}
	for _, a := range answer.Data.Alerts {
		all = append(all, raised{a.Labels["alertname"], a.Labels["instance"], a.Labels["windows"], a.State})
	}
	return all
}

func (w *overseer) fires(s *story, windows string) bool {
	return slices.Contains(w.active(), raised{s.alert, s.at.instance, windows, "firing"})
}

func (w *overseer) has(s *story, windows string) bool {
	return slices.ContainsFunc(w.active(), func(r raised) bool { return r.Alert == s.alert && r.Instance == s.at.instance && r.Windows == windows })
}

// alerts wants each alert of the package to have one story, and returns what fires in all of these together.
func (w *overseer) alerts(stories []story) map[raised]bool {
	w.t.Helper()
	var answer struct {
		Data struct {
			Groups []struct {
				Rules []struct{ Name string }
			}
		}
	}
	if err := json.Unmarshal([]byte(w.get("/api/v1/rules?type=alert")), &answer); err != nil {
		w.t.Fatal(err)
	}
	told, wanted := map[string]bool{}, map[raised]bool{}
	for _, s := range stories {
		if told[s.alert] {
			w.t.Errorf("%s has two stories", s.alert)
		}
		told[s.alert] = true
		for _, windows := range []string{"", tenth} {
			wanted[raised{s.alert, s.at.instance, windows, "firing"}] = true
		}
	}
	for _, s := range stories { // all have one clock
		for _, windows := range []string{"", tenth} {
			wanted[raised{"RealmgateClockUnsynchronised", s.at.instance, windows, "firing"}] = true
		}
	}
	for _, group := range answer.Data.Groups {
		for _, rule := range group.Rules {
			if !told[rule.Name] {
				w.t.Errorf("%s has no story", rule.Name)
			}
		}
	}
	return wanted
}

// ownClock sets what the kernel says of its clock, and puts it back at the end of the test. No clock is changed.
func ownClock(t *testing.T) (synchronised func(bool)) {
	t.Helper()
	const status, most = 0x10, 0x4 // ADJ_STATUS, ADJ_MAXERROR of adjtimex(2)
	var before unix.Timex
	if _, err := unix.Adjtimex(&before); err != nil {
		t.Fatal(err)
	}
	set := func(to unix.Timex) {
		to.Modes = status | most
		if _, err := unix.Adjtimex(&to); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(func() { set(before) })
	return func(good bool) {
		if good {
			set(unix.Timex{Status: before.Status &^ unix.STA_UNSYNC})
		} else {
			set(unix.Timex{Status: before.Status | unix.STA_UNSYNC, Maxerror: 16_000_000})
		}
	}
}
