package gateway

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/config"
	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/model"
)

const text = `interfaces: {public: [eth0], private: [eth1]}
realm: {zones: [foo.example.], nameserver: ns.foo.example.}
dns: {public: 198.18.0.1, private: 10.0.0.1}
pool: {addresses: [198.18.0.32/28]}
hosts:
  - name: hosta.foo.example.
    address: 10.0.0.100
    services: [{name: www.hosta.foo.example., protocol: tcp, port: 80, to: 8080}]
`

func document(t *testing.T, text string) *config.Document {
	t.Helper()
	d, err := config.NewDocument("test.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func viewOf(t *testing.T, text string) *view {
	t.Helper()
	v, err := newView(document(t, text), nil, nothingPast, nil)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestReloadRefusesWhatOnlyARestartChanges(t *testing.T) {
	g := newGateway(Options{ConfigFile: "test.yaml"})
	fixed := func(now string) error {
		return g.fixed((&view{document: document(t, text)}).next(document(t, now), nil, nil))
	}
	for key, changed := range map[string]string{
		"interfaces":     strings.Replace(text, "eth1", "eth2", 1),
		"capacity":       text + "capacity: 5000\n",
		"outbound.slots": text + "outbound: {slots: 5}\n",
		"dns.public":     strings.Replace(text, "198.18.0.1,", "198.18.0.3,", 1),
		"dns.private":    strings.Replace(text, "10.0.0.1}", "10.0.0.2}", 1),
	} {
		if err := fixed(changed); err == nil || !strings.Contains(err.Error(), key) {
			t.Errorf("%s: %v", key, err)
		}
	}
	for _, same := range []string{text, strings.Replace(text, "10.0.0.100", "10.0.0.101", 1), text + "ipv6: forward\n"} {
		if err := fixed(same); err != nil {
			t.Error(err)
		}
	}
}

func TestStatusNamesTheRemedy(t *testing.T) {
	usage := datapath.Usage{Sessions: 1, Capacity: 10}
	list := remedies(totals{reasons: map[model.Reason]uint64{"drop_no_route": 3, "drop_client_limit": 1}, exhausted: 1, distrusted: 1, upstreamFailed: 2},
		usage, []netip.Addr{remote.Addr()})
	want := []string{"pool.quotas.client_sessions", "route", remote.Addr().String(), "pool.rest", "reputation", "dns.upstream"}
	if len(list) != len(want) {
		t.Fatal(list)
	}
	for i, word := range want {
		if !strings.Contains(list[i], word) {
			t.Errorf("%q does not mention %s", list[i], word)
		}
	}
	if list := remedies(totals{uncounted: 7}, usage, nil); len(list) != 1 || !strings.Contains(list[0], "7 sessions lately were counted with nobody") {
		t.Errorf("sessions that count with nobody: %q", list)
	}
	if list := remedies(totals{}, usage, nil); len(list) != 0 {
		t.Error(list)
	}
}

// A remedy is told soon after its cause begins, and no more minutes after it
// has ended, however much was counted in all.
func TestRemediesEndWithTheirCause(t *testing.T) {
	var r recent
	said := func(now time.Duration, n uint64) int {
		return len(remedies(r.since(model.Instant(now), totals{reasons: map[model.Reason]uint64{"drop_no_route": n}, exhausted: n, distrusted: n,
			upstreamFailed: n}), datapath.Usage{Capacity: 1}, nil))
	}
	counted := func(now time.Duration) uint64 { // a cause from minute 2 to 4, on what an earlier daemon counted
		return 1000 + uint64(max(0, min(now, 4*time.Minute)-2*time.Minute)/time.Second)
	}
	for now := time.Duration(0); now < time.Hour; now += recentStep {
		n := counted(now)
		r.note(model.Instant(now), totals{reasons: map[model.Reason]uint64{"drop_no_route": n}, exhausted: n, distrusted: n, upstreamFailed: n})
		later := now + recentStep/2
		got := said(later, counted(later))
		switch {
		case later > 2*time.Minute && later < 4*time.Minute+recentSpan-recentStep && got != 4,
			(later < 2*time.Minute || later > 4*time.Minute+recentSpan) && got != 0:
			t.Fatalf("after %s: %d remedies", later, got)
		}
	}
	if len(r.kept) > int(recentSpan/recentStep)+2 {
		t.Errorf("%d moments are kept", len(r.kept))
	}
}

func TestAdviceIsAboutReasonsThatExist(t *testing.T) {
	known := map[string]bool{}
	for _, reason := range datapath.ReasonNames() {
		known[reason] = true
	}
	for reason := range advice {
		if !known[string(reason)] {
			t.Errorf("advice about %s, which is no reason", reason)
		}
	}
}
