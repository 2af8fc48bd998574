package e2e

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/lab/netns"
)

// From two machines without edges to the first page by name, by the configurations and commands of the guide.
func TestGuideTwoSites(t *testing.T) {
	t.Parallel()
	const page, pinShown = "two-sites.md", "sha256/AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyA="
	r := newRealm(t, netns.Options{Gateways: 2, Hosts: 1, Resolver: true})
	r.resolver()
	began := time.Now()
	type site struct {
		*daemon
		configuration, pin string
	}
	sites := make([]site, 2)
	for i, letter := range []string{"a", "b"} {
		g := r.Gateways[i]
		r.nginx(g.Hosts[0])
		c := r.guideBlock(page, 2+i) // its addresses are the lab's
		s := site{r.startAt(g, r.ID()+"-"+letter, c), c, ""}
		out, err := g.Command(context.Background(), "sh", "-c", r.guideBlock(page, 5, "journalctl --unit=realmgate --output=cat", "cat "+s.journal)).Output()
		if s.pin = strings.TrimSpace(string(out)); err != nil || len(s.pin) != len(pinShown) {
			t.Fatalf("the pin of %s: %v, %q", letter, err, s.pin)
		}
		sites[i] = s
	}
	for i, s := range sites {
		before, _, _ := strings.Cut(s.configuration, "edges:\n")
		s.write(before + r.guideBlock(page, 6+i, pinShown, sites[1-i].pin))
		for line := range strings.Lines(r.guideBlock(page, 8)) {
			if out, err := s.tell(strings.Fields(line)[1:]...); err != nil {
				t.Fatalf("%s: %v\n%s", line, err, out)
			}
		}
	}
	for i, name := range []string{"www.b.example", "www.a.example"} {
		if got, err := curl(sites[i].hostAt(0), sites[i].ask(0, name), 80); err != nil || got != strings.Repeat("x", 100) {
			t.Errorf("from %s: got %q, %v", name, got, err)
		}
	}
	t.Logf("from two gateways that do not run to both pages: %s", time.Since(began).Round(time.Millisecond))
}
