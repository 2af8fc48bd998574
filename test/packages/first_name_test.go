package packages

import (
	"strings"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/lab/netns"
	"github.com/realmgate/realmgate/test/lab"
)

// The guide's way from a bare Debian to the first name, command by command: apt installs the package, some lines are edited, the
// service starts; then a name resolves and its page loads.
func TestFirstName(t *testing.T) {
	lab.LengthyOnly(t)
	t.Parallel()
	for _, d := range []debian{bookworm, trixie} {
		t.Run(d.suite, func(t *testing.T) {
			t.Parallel()
			firstName(t, d)
		})
	}
}

func firstName(t *testing.T, d debian) {
	r := lab.NewRealm(t, netns.Options{Prefix: "firstname", Hosts: 1, Clients: 1})
	m := newMachine(t, r.Gateway, d.archive(t))
	_ = r.Gateway.Command(t.Context(), "iptables-legacy", "-L").Run() // has the kernel load it, where it can, as on many machines: no fault
	serve(t, r.Hosts()[0])
	m.deb(built(t, "*_amd64.deb"), "/srv/realmgate_1.0.0-1_amd64.deb")
	guide := pageOf(t, "first-name.md")
	start := time.Now()
	m.does(guide.next("apt install"))
	m.does(guide.next("first.yaml"))
	m.does(guide.next("systemctl start"))
	if out := m.does(guide.next("realmgate status")); !strings.Contains(out, "version "+version) {
		t.Errorf("status: %s", out)
	}
	asked := time.Now()
	block := guide.next("dig")
	out, err := r.Clients[0].Command(t.Context(), "sh", "-e", "-c", block).CombinedOutput()
	if err != nil || !strings.HasSuffix(string(out), "page") {
		t.Errorf("%s: %v: %s", block, err, out)
	}
	t.Logf("%5.1f s  the name and its page", time.Since(asked).Seconds())
	t.Logf("%5.1f s  %s: from the package to the page", time.Since(start).Seconds(), d.suite)
	guide.end()
	firstHour(m, r.Gateway)
}

// firstHour looks at it as the guide's next page does.
func firstHour(m *machine, network *netns.Gateway) {
	t := m.t
	t.Helper()
	guide := pageOf(t, "first-hour.md")
	out := m.does(guide.next("realmgate status"))
	for line := range strings.Lines(out) {
		if strings.HasPrefix(line, "- ") {
			t.Errorf("it is not well: %s", out)
		}
	}
	if out, _ := m.run("sh", "-e", "-c", guide.next("realmgate doctor")); !strings.Contains(out, "configuration   /etc/realmgate.yaml is good") {
		t.Errorf("the doctor: %s", out)
	}
	if out := m.does(guide.next("realmgate hosts")); !strings.Contains(out, "www.home.example") {
		t.Errorf("who has what: %s", out)
	}
	m.does(guide.next("api.yaml"))
	token := m.must("cat", "/srv/realmgate.token")
	metrics, err := network.Command(t.Context(), "curl", "-sS", "-H", "Authorization: Bearer "+token, "http://127.0.0.1:9470/metrics").Output()
	if err != nil || !strings.Contains(string(metrics), "\nrealmgate_pool_offers_total") {
		t.Errorf("metrics: %v: %.300s", err, metrics)
	}
	if out := m.does(guide.next("journalctl")); !strings.Contains(out, "serving names") {
		t.Errorf("the log: %s", out)
	}
	guide.end()
}
