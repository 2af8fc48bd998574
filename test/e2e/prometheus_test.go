package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/lab/netns"
)

const (
	prometheusAt = "127.0.0.1:9090"
	packages     = "../../packages/"
)

// Debian's Prometheus reads a gateway that has something of everything, by a token and by a certificate; an alert of the package fires while a jail has no log, and is
// over when it has. What alerts, dashboard and guides name is on the page.
func TestPrometheusWatches(t *testing.T) {
	t.Parallel()
	r := newRealm(t, netns.Options{Hosts: 2, Clients: 1})
	r.webServers()
	watched := filepath.Join(r.directory, "auth.log")
	a, at := newSigner(t), netip.AddrPortFrom(r.Gateway.PrivateAddress, 9470)
	a.server(at.Addr(), filepath.Join(r.directory, "api.crt"), filepath.Join(r.directory, "api.key"))
	a.write(filepath.Join(r.directory, "ca.crt"))
	d := r.start(r.configuration() + fmt.Sprintf(`api:
  listen: [%q]
  certificate: %[2]s/api.crt
  key: %[2]s/api.key
  client_ca: %[2]s/ca.crt
  clients: [{name: prometheus.example.net, role: read}]
jails: [{name: ssh, file: %[3]q, patterns: [sshd]}]
events: [{name: log, file: %[4]q}]
log: {sinks: [{name: disk, directory: %[2]s/nat}]}
dynamic: [{zone: foo.example., dnsmasq: %[2]s/leases, prefixes: [10.0.9.0/24], services: [{ports: [tcp/22]}]}]
sets: [{name: bad, addresses: [203.0.113.9]}]
lists: [{name: bad, url: "file://%[5]s"}]
chains:
  - name: web
    match: {direction: in, to: %[6]s, protocol: tcp, port: 80}
    functions:
      - {use: multipath, backends: [{to: %[7]s, port: 8080}, {to: %[8]s, port: 8080}], check: {every: 100ms, timeout: 100ms}}
`, at, r.directory, watched, filepath.Join(r.directory, "events.jsonl"), listOf(t, r.directory), r.Gateway.Outbound, r.Hosts()[0].IP, r.Hosts()[1].IP))
	page := d.metrics()
	values := valuesOf(t, page)
	for series, want := range map[string]float64{`realmgate_jail_up{jail="ssh"}`: 0, `realmgate_event_sink_up{sink="log"}`: 1, "realmgate_measure_failures_total": 0} {
		if n, there := values[series]; !there || n != want {
			t.Errorf("%s is %v (there: %v), want %v", series, n, there, want)
		}
	}
	eventually(t, 20*time.Second, "backends were asked, and the list was fetched", func() bool {
		page = d.metrics()
		return strings.Contains(page, "realmgate_backend_up") && strings.Contains(page, "realmgate_list_age_seconds")
	})
	namesAreOn(t, page)
	r.prometheus(a.scrapes(d, at))
	eventually(t, 60*time.Second, "it reads by a token and by a certificate", func() bool { return d.up("realmgate") && d.up("certificate") })
	eventually(t, 60*time.Second, "the alert fires", func() bool { return d.alert("RealmgateJailFailing") == "firing" })
	if down := d.alert("RealmgateDown"); down != "" {
		t.Errorf("RealmgateDown is %s", down)
	}
	if err := os.WriteFile(watched, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	d.give()
	eventually(t, 60*time.Second, "the alert is over", func() bool { return d.alert("RealmgateJailFailing") == "" })
}

// listOf writes a list of one address.
func listOf(t *testing.T, folder string) string {
	t.Helper()
	path := filepath.Join(folder, "bad.txt")
	if err := os.WriteFile(path, []byte("203.0.113.9\n"), 0o644); err != nil { //nolint:gosec // the gateway's user reads it
		t.Fatal(err)
	}
	return path
}

// httpGet is what a server of the gateway's machine answers.
func (d *daemon) httpGet(at, path string) string {
	d.t.Helper()
	out, err := d.gateway.Command(context.Background(), "curl", "-sS", "--fail-with-body", "--retry", "3", "--max-time", "10", "http://"+at+path).CombinedOutput()
	if err != nil {
		d.t.Fatalf("GET %s of %s: %v\n%s", path, at, err, out)
	}
	return string(out)
}

// scrapes are two of Prometheus' jobs, by a token and by a certificate.
func (a *signer) scrapes(d *daemon, at netip.AddrPort) string {
	a.t.Helper()
	folder := a.t.TempDir()
	secret, err := d.gateway.Command(context.Background(), program, "token", "create", "prometheus", "--role", "read", "--instance", d.instance).Output()
	if err != nil {
		a.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "token"), secret, 0o600); err != nil {
		a.t.Fatal(err)
	}
	a.write(filepath.Join(folder, "ca.crt"))
	a.client("prometheus.example.net", filepath.Join(folder, "client.crt"), filepath.Join(folder, "client.key"))
	return fmt.Sprintf(`  - job_name: realmgate
    scheme: https
    authorization: {credentials_file: %[1]s/token}
    tls_config: {ca_file: %[1]s/ca.crt}
    static_configs: [{targets: [%[2]q]}]
  - job_name: certificate
    scheme: https
    tls_config: {ca_file: %[1]s/ca.crt, cert_file: %[1]s/client.crt, key_file: %[1]s/client.key}
    static_configs: [{targets: [%[2]q]}]
`, folder, at)
}

// up reports whether Prometheus can read a job's target.
func (d *daemon) up(job string) bool {
	return strings.Contains(d.httpGet(prometheusAt, "/api/v1/query?query=up%7Bjob%3D%22"+job+"%22%7D"), `"1"]`)
}

// prometheus runs on the gateway's machine, with the package's alerts and files of other rules.
func (r *realm) prometheus(scrapes string, others ...string) {
	r.t.Helper()
	rules, err := filepath.Abs(packages + "alerts.yaml")
	if err != nil {
		r.t.Fatal(err)
	}
	folder := r.t.TempDir()
	config := filepath.Join(folder, "prometheus.yml")
	text := fmt.Sprintf(`global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: [%s]
scrape_configs:
%s`, strings.Join(append(others, rules), ", "), scrapes)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		r.t.Fatal(err)
	}
	watch := r.Gateway.Command(context.Background(), "prometheus", "--config.file="+config, "--storage.tsdb.path="+filepath.Join(folder, "data"), "--web.listen-address="+prometheusAt)
	var log strings.Builder
	watch.Stdout, watch.Stderr = &log, &log
	if err := watch.Start(); err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() {
		_ = watch.Process.Kill()
		_ = watch.Wait()
		if r.t.Failed() {
			r.t.Logf("the log of prometheus:\n%s", log.String())
		}
	})
	eventually(r.t, 30*time.Second, "prometheus is ready", func() bool {
		return r.Gateway.Command(context.Background(), "curl", "-sf", "http://"+prometheusAt+"/-/ready").Run() == nil
	})
}

// alert is the state of an alert, empty where it is not even pending.
func (d *daemon) alert(name string) string {
	d.t.Helper()
	var answer struct {
		Data struct {
			Alerts []struct {
				Labels map[string]string
				State  string
			}
		}
	}
	if err := json.Unmarshal([]byte(d.httpGet(prometheusAt, "/api/v1/alerts")), &answer); err != nil {
		d.t.Fatal(err)
	}
	for _, a := range answer.Data.Alerts {
		if a.Labels["alertname"] == name {
			return a.State
		}
	}
	return ""
}

// named finds the gateway's series in expressions and in the guides.
var named = regexp.MustCompile(`\b(?:realmgate|process|go)_[a-z0-9_]*[a-z0-9]\b`)

// namesAreOn wants what alerts, dashboard, guides and reference name to be on a page, and the expressions to be good.
func namesAreOn(t *testing.T, page string) {
	t.Helper()
	there := map[string]bool{}
	for line := range strings.Lines(page) {
		name, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(line, "# HELP "), "# TYPE "), " ")
		name, _, _ = strings.Cut(name, "{")
		there[name] = true
	}
	for _, file := range []string{packages + "alerts.yaml", packages + "dashboard.json", "../../docs/guide/metrics.md", "../../docs/guide/alerts.md", "../../docs/reference/metrics.md"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		found := named.FindAllString(string(text), -1)
		if len(found) == 0 {
			t.Errorf("%s names no metric", file)
		}
		for _, name := range found {
			if !there[name] {
				t.Errorf("%s names %s, which is not on the page", file, name)
			}
		}
	}
	rules := filepath.Join(t.TempDir(), "dashboard.yaml")
	if err := os.WriteFile(rules, []byte(dashboardRules(t)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, arguments := range [][]string{
		{"check", "rules", "--lint-fatal", packages + "alerts.yaml"}, {"test", "rules", packages + "alerts_test.yaml"}, {"check", "rules", "--lint-fatal", rules},
	} {
		if out, err := exec.Command("promtool", arguments...).CombinedOutput(); err != nil {
			t.Errorf("promtool %v: %v\n%s", arguments, err, out)
		}
	}
}

// dashboardRules is a file that has each expression of the dashboard as a rule.
func dashboardRules(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(packages + "dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	var board struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(text, &board); err != nil {
		t.Fatal(err)
	}
	rules := "groups:\n  - name: dashboard\n    rules:\n"
	n := 0
	for _, p := range board.Panels {
		if len(p.Targets) == 0 {
			t.Errorf("the panel %q shows nothing", p.Title)
		}
		for _, target := range p.Targets {
			n++
			rules += fmt.Sprintf("      - {record: 'panel:%d', expr: %q}\n", n, strings.ReplaceAll(target.Expr, "$__rate_interval", "5m"))
		}
	}
	return rules
}
