package e2e

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/realmgate/realmgate/internal/lab/netns"
)

// A host that defers who accepts, as Apache has Linux do, takes our ACK for nothing: its handshake is over with the client's data.
// They may not echo what the host has never said.
func TestWebHostDefersAccept(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"tcx", "xdp"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			r := newRealm(t, netns.Options{Hosts: 1})
			client, _ := r.behindWire(1, weather{takes: 10 * time.Millisecond})
			host := r.Hosts()[0]
			listener, err := host.Listen("tcp4", netip.AddrPortFrom(host.IP, 8080).String())
			if err != nil {
				t.Fatal(err)
			}
			defers(t, listener)
			server := &http.Server{Handler: page(hostName(0)), ReadHeaderTimeout: 10 * time.Second}
			go func() { _ = server.Serve(listener) }()
			t.Cleanup(func() { _ = server.Close() })
			r.start(with(r.configuration(), "web: {addresses: ["+webAddress.String()+"]}", r.interfacesAt(mode)))
			readsNames(t, client)
			before := counter(t, host, "TCPDeferAcceptDrop")
			const fetches = 5
			for range fetches {
				if got, err := fetchByName(client, "www."+hostName(0)); err != nil || !strings.Contains(got, hostName(0)) {
					t.Errorf("the page is %q: %v", got, err)
				}
			}
			if deferred := counter(t, host, "TCPDeferAcceptDrop") - before; deferred < fetches {
				t.Errorf("the host deferred %d of %d connections", deferred, fetches)
			}
			if refused := counter(t, host, "TSEcrRejected"); refused > 0 {
				t.Errorf("the host refused %d segments for what they echo", refused)
			}
		})
	}
}

// defers has a listener's connections be accepted with their first data.
func defers(t *testing.T, listener net.Listener) {
	t.Helper()
	raw, err := listener.(*net.TCPListener).SyscallConn()
	if err == nil {
		err = raw.Control(func(fd uintptr) {
			if err := unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_DEFER_ACCEPT, 30); err != nil {
				t.Error(err)
			}
		})
	}
	if err != nil {
		t.Fatal(err)
	}
}
