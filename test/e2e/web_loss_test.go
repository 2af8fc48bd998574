package e2e

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/lab/netns"
)

// A client's first data are two segments, of which the second is lost, and again when the client probes for its loss: the client
// sends the first one again then, and the second not before it has heard of that. From then on it keeps the first no more,
// which is lost on its way to the host as well.
func TestWebSecondSegmentIsLost(t *testing.T) {
	t.Parallel()
	request := strings.Replace(webRequest(0), "\r\n\r\n", "\r\nX: "+strings.Repeat("x", 1500)+"\r\n\r\n", 1)
	for _, mode := range []string{"tcx", "xdp"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			r := newRealm(t, netns.Options{Hosts: 1, RemoteClients: 1})
			r.webServers()
			client, wire, host := r.RemoteClients[0], netns.Node{Namespace: r.Router}, r.Hosts()[0]
			d := r.start(with(r.configuration(), "web: {addresses: ["+webAddress.String()+"], hello: 10s}", r.interfacesAt(mode)))
			readsNames(t, client)
			r.filter(wire, "table ip loses {\n chain c { type filter hook forward priority filter; tcp dport 80 tcp flags & psh == psh drop; }\n}")
			r.filter(host, "table ip loses {\n chain c { type filter hook input priority filter; tcp dport 8080 ip length > 1000 drop; }\n}")
			c, err := visits(client, request)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			eventually(t, 8*time.Second, "the first segment has come again", func() bool { return d.status().Web.Again > 0 })
			r.filter(wire, "delete table ip loses")
			eventually(t, 8*time.Second, "the host has answered", func() bool { return d.status().Web.Opened > 0 })
			r.filter(host, "delete table ip loses")
			_ = c.SetDeadline(time.Now().Add(8 * time.Second))
			page, err := io.ReadAll(c)
			if err != nil || !strings.Contains(string(page), hostName(0)) {
				t.Errorf("the page is %q: %v", page, err)
			}
		})
	}
}
