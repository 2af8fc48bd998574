package e2e

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/lab/netns"
	"golang.org/x/sys/unix"
)

// A client uses one port for two web addresses, as its kernel lets it, and both names lead to one host, which could not tell the
// connections apart: the second is reset at once, and the first goes on.
func TestWebOnePortByTwoAddresses(t *testing.T) {
	t.Parallel()
	other := netip.AddrPortFrom(webAddress.Next(), 80)
	for _, mode := range []string{"tcx", "xdp"} {
		t.Run(mode, func(t *testing.T) {
			r := newRealm(t, netns.Options{Hosts: 1, Clients: 1})
			r.webServers()
			client := r.Clients[0]
			d := r.start(with(r.configuration(), fmt.Sprintf("web: {addresses: [%s, %s]}", webAddress, other.Addr()), r.interfacesAt(mode)))
			readsNames(t, client)
			dial := func(to netip.AddrPort) net.Conn {
				dialer := net.Dialer{Timeout: 10 * time.Second, LocalAddr: net.TCPAddrFromAddrPort(netip.AddrPortFrom(client.IP, 40000)),
					Control: func(_, _ string, c syscall.RawConn) (err error) {
						return errors.Join(c.Control(func(fd uintptr) {
							err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEADDR, 1) //nolint:gosec // a descriptor
						}), err)
					}}
				var c net.Conn
				if err := client.Do(func() (err error) { c, err = dialer.Dial("tcp4", to.String()); return err }); err != nil {
					t.Fatalf("%v: %v", to, err)
				}
				t.Cleanup(func() { _ = c.Close() })
				_ = c.SetDeadline(time.Now().Add(10 * time.Second))
				return c
			}
			says := func(c net.Conn, text string) {
				if _, err := io.WriteString(c, text); err != nil {
					t.Fatal(err)
				}
			}
			opened := d.status().Web.Opened
			first, second := dial(netip.AddrPortFrom(webAddress, 80)), dial(other)
			says(first, strings.Replace(webRequest(0), "Connection: close\r\n", "", 1))
			eventually(t, 10*time.Second, "the first is at its host", func() bool { return d.status().Web.Opened > opened })
			says(second, webRequest(0))
			if page, err := io.ReadAll(second); !errors.Is(err, unix.ECONNRESET) {
				t.Errorf("the second: %v, want a reset; %q", err, page)
			}
			if n := d.counted("drop_session_conflict"); n == 0 {
				t.Error("it is not counted")
			}
			says(first, webRequest(0))
			if pages, err := io.ReadAll(first); err != nil || strings.Count(string(pages), hostName(0)) != 2 {
				t.Errorf("the first: %v, its two pages are %q", err, pages)
			}
		})
	}
}
