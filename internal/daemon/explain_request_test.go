package daemon

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
)

// A limit that is used up is told of, as often as one asks; what is left of it is not
// touched.
func TestExplainUsesNothingUp(t *testing.T) {
	t.Parallel()
	r := newExplained(t)
	source := netip.MustParseAddr("203.0.113.70")
	request := api.ExplainRequest{Address: source, ToName: www}
	for i, want := range []string{"continue, pass", "continue, pass", "drop, drop drop_denied limits/first"} {
		for range 2 {
			x, err := r.explain(request)
			if err != nil || !strings.HasSuffix(said(x), "limits/first "+want) {
				t.Errorf("after %d flows: %s, %v", i, said(x), err)
			}
		}
		packet := packets.NewTCP(netip.AddrPortFrom(source, uint16(5000+i)), netip.AddrPortFrom(r.mustAsk(www), 80), packets.SYN, "")
		if end := r.send(true, packet); end.IsDrop() != (i == 2) {
			t.Errorf("flow %d ended with %s", i, end)
		}
	}
	x, err := r.explain(request)
	if err != nil || !strings.Contains(said(x), "session open") || !strings.Contains(fmt.Sprint(x.Steps), "2; the latest syn") {
		t.Errorf("two sessions are open: %+v, %v", x, err)
	}
}

// Without a name, every service is tried.
func TestExplainServices(t *testing.T) {
	t.Parallel()
	r := newExplained(t)
	for source, want := range map[string]string{
		"203.0.113.1": "ban continue, pass | www.hosta.foo.example.:80 true, dns.hosta.foo.example.:53 true",
		"192.0.2.1":   "ban continue, pass | www.hosta.foo.example.:80 false web/friends, dns.hosta.foo.example.:53 true",
		"10.0.0.7":    "ban continue, address drop, drop drop_spoofed_source | ",
	} {
		x, err := r.explain(api.ExplainRequest{Address: netip.MustParseAddr(source), Direction: model.In})
		var list []string
		for _, s := range x.Services {
			list = append(list, strings.TrimSpace(fmt.Sprintf("%s:%d %t %s", s.Name, s.Port, s.Passes, s.Function)))
		}
		if got := said(x) + " | " + strings.Join(list, ", "); err != nil || got != want {
			t.Errorf("%s: %v\n got %s\nwant %s", source, err, got, want)
		}
	}
}

func TestExplainRefuses(t *testing.T) {
	t.Parallel()
	r := newExplained(t)
	outside, host := netip.MustParseAddr("203.0.113.1"), netip.MustParseAddr("10.0.0.100")
	for _, c := range []struct {
		request api.ExplainRequest
		want    string
	}{
		{api.ExplainRequest{Address: outside, ToName: "nobody.foo.example."}, "there is no name nobody.foo.example.: see realmgate hosts"},
		{api.ExplainRequest{Address: outside, ToName: www, Port: 81}, "www.hosta.foo.example. does not open that: it opens tcp/80:8080"},
		{api.ExplainRequest{Address: outside, ToName: www, Protocol: model.ICMP}, "www.hosta.foo.example. does not open that: it opens tcp/80:8080"},
		{api.ExplainRequest{Address: outside, ToName: "hostb.foo.example."}, "hostb.foo.example. opens everything: say which protocol, and of tcp and udp which port"},
		{api.ExplainRequest{Address: outside, ToName: "hostb.foo.example.", Protocol: model.UDP}, "hostb.foo.example. opens everything: say which protocol, and of tcp and udp which port"},
		{api.ExplainRequest{Address: outside, ToName: "hosta.foo.example."}, "hosta.foo.example. opens nothing from outside: see realmgate hosts"},
		{api.ExplainRequest{Address: host}, "a flow from 10.0.0.100 would go out: say where to"},
		{api.ExplainRequest{Address: netip.MustParseAddr("10.0.0.77")}, "a flow from 10.0.0.77 would go out: say where to"},
	} {
		if x, err := r.explain(c.request); err == nil || err.Error() != c.want {
			t.Errorf("%+v: %v, want %s; %+v", c.request, err, c.want, x)
		}
	}
	x, err := r.explain(api.ExplainRequest{Address: outside, ToName: "hostb.foo.example.", Protocol: model.ICMP})
	if err != nil || said(x) != "name lend, pool lend, ban continue, chain none, pass" {
		t.Errorf("%s, %v", said(x), err)
	}
}
