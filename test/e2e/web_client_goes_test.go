package e2e

import (
	"net"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/lab/netns"
)

// A client that has as many half requests under way as it may, and resets them, has its places back at once, and not when the time
// for their names is over.
func TestWebClientGoes(t *testing.T) {
	t.Parallel()
	const most = 64 // of a source
	for _, mode := range []string{"tcx", "xdp"} {
		t.Run(mode, func(t *testing.T) {
			r := newRealm(t, netns.Options{Hosts: 1, Clients: 1})
			r.webServers()
			d := r.start(with(r.configuration(), "web: {addresses: ["+webAddress.String()+"], hello: 30s}",
				r.interfacesAt(mode)))
			waits := func(number int) func() bool {
				return func() bool { return d.status().Web.Waiting == number }
			}
			eventually(t, 10*time.Second, "names are read", func() bool {
				_, err := timed(r.Clients[0], 0)
				return err == nil
			})
			half := make([]net.Conn, most)
			for i := range half {
				c, err := visits(r.Clients[0], webRequest(0)[:10])
				if err != nil {
					t.Fatal(err)
				}
				half[i] = c
			}
			eventually(t, 5*time.Second, "all of them wait", waits(most))
			for _, c := range half {
				if err := c.(*net.TCPConn).SetLinger(0); err != nil {
					t.Fatal(err)
				}
				_ = c.Close()
			}
			eventually(t, 5*time.Second, "none of them waits", waits(0))
			if _, err := timed(r.Clients[0], 0); err != nil {
				t.Errorf("there is a place again: %v", err)
			}
		})
	}
}
