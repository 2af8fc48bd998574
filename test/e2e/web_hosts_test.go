package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/lab/netns"
)

// A host that loses its timestamps while they are promised costs one connection: the next is served, and it is told whose
// TCP it was.
func TestWebHostsAreAskedAndHeard(t *testing.T) {
	t.Parallel()
	r := newRealm(t, netns.Options{Hosts: 2, Clients: 1})
	r.webServers()
	d := r.start(with(r.configuration(), "web: {addresses: ["+webAddress.String()+"]}"))
	eventually(t, 20*time.Second, "the hosts are asked", func() bool {
		hosts := list[[]api.WebHost](d, "web")
		return len(hosts) == 2 && hosts[0].State == api.WebAsked && hosts[1].State == api.WebAsked
	})
	for _, h := range list[[]api.WebHost](d, "web") {
		if h.MSS != 1460 || !h.SACK || !h.Timestamps || !h.Scale || h.Address != webAddress || h.Asked.IsZero() {
			t.Errorf("listed is %+v", h)
		}
	}
	name := "www." + hostName(0)
	fetches := func() error {
		page, err := fetchByName(r.Clients[0], name)
		if err == nil && !strings.Contains(page, hostName(0)) {
			t.Errorf("%s answered %q", name, page)
		}
		return err
	}
	if err := fetches(); err != nil {
		t.Fatal(err)
	}
	if err := r.Hosts()[0].SetSysctl("net/ipv4/tcp_timestamps", "0"); err != nil {
		t.Fatal(err)
	}
	if err := fetches(); err == nil {
		t.Error("a host without the promised timestamps served a client")
	}
	if err := fetches(); err != nil {
		t.Errorf("afterwards: %v", err)
	}
	if w := d.warning("no timestamps"); !strings.HasPrefix(w, hostName(0)) || d.counted("drop_host_options") == 0 {
		t.Errorf("warning %q, %d packets for it", w, d.counted("drop_host_options"))
	}
	if h := list[[]api.WebHost](d, "web", "--host", hostName(0)); len(h) != 1 || h[0].Timestamps || !h[0].SACK {
		t.Errorf("listed is %+v", h)
	}
}
