package webload

import (
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/lab/packets"
)

func here(f func() error) error { return f() }

// sites are two hosts at the loopback, with a server for both.
func sites(t *testing.T) *Client {
	t.Helper()
	s, err := Serve(here, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	c := &Client{Do: here, Sources: []netip.Addr{netip.MustParseAddr("127.0.1.1"), netip.MustParseAddr("127.0.1.2")}}
	for _, a := range []string{"127.0.0.2", "127.0.0.3"} {
		host := netip.MustParseAddr(a)
		c.Sites = append(c.Sites, Site{Name: "a.example", At: netip.AddrPortFrom(host, s.Port), Host: host})
	}
	return c
}

func TestFetch(t *testing.T) {
	t.Parallel()
	c := sites(t)
	for name, p := range map[string]Plan{
		"in parallel": {Parallel: 4, Length: 100 * time.Millisecond, Patience: 5 * time.Second},
		"at a rate":   {Rate: 200, Length: 100 * time.Millisecond, Patience: 5 * time.Second},
	} {
		f, err := c.Fetch(p)
		if err != nil || f.Done == 0 || f.Late+f.Failed+f.Wrong > 0 || len(f.Times) != f.Done {
			t.Errorf("%s: %+v, %v", name, f, err)
		}
		if p.Rate > 0 && f.Done != 20 {
			t.Errorf("%d came of 20", f.Done)
		}
	}
}

// What is wrong is counted as what it is.
func TestFetchOfOthers(t *testing.T) {
	t.Parallel()
	once := Plan{Rate: 100, Length: 10 * time.Millisecond, Patience: 200 * time.Millisecond} // one
	c := sites(t)
	c.Sites[0].Host = c.Sites[1].Host
	if f, err := c.Fetch(once); err != nil || f.Wrong != 1 || f.Done > 0 {
		t.Errorf("another host: %+v, %v", f, err)
	}
	silent, err := net.Listen("tcp4", "127.0.0.2:0")
	if err != nil {
		t.Fatal(err)
	}
	c.Sites[0].At = netip.MustParseAddrPort(silent.Addr().String())
	if f, err := c.Fetch(once); err != nil || f.Late != 1 {
		t.Errorf("nobody answers: %+v, %v", f, err)
	}
	if err := silent.Close(); err != nil {
		t.Fatal(err)
	}
	if f, err := c.Fetch(once); err != nil || f.Failed != 1 {
		t.Errorf("nobody listens: %+v, %v", f, err)
	}
}

func TestDownload(t *testing.T) {
	t.Parallel()
	c := sites(t)
	for _, connections := range []int{1, 10} {
		d, err := c.Download(connections, 50*time.Millisecond)
		if err != nil || d.Octets == 0 || d.Took < 50*time.Millisecond {
			t.Errorf("%d connections: %+v, %v", connections, d, err)
		}
	}
}

// proc_stat(5): what waits, is idle or stolen is not busy.
func TestParseBusy(t *testing.T) {
	t.Parallel()
	busy, err := parseBusy(strings.NewReader("cpu  1 20 300 4000 50000 600000 7000000 8 9 10\ncpu0 1 1 1 1 1 1 1\n"))
	if want := 7_600_321 * tick; err != nil || busy != want {
		t.Errorf("%s, want %s: %v", busy, want, err)
	}
	if _, err := parseBusy(strings.NewReader("intr 1 2 3 4 5 6 7\n")); err == nil {
		t.Error("what is no such file is read")
	}
}

func TestSYNs(t *testing.T) {
	t.Parallel()
	from, to := net.HardwareAddr{2, 0, 0, 0, 0, 1}, net.HardwareAddr{2, 0, 0, 0, 0, 2}
	at := netip.MustParseAddrPort("198.18.0.80:443")
	different := map[netip.AddrPort]bool{}
	for _, frame := range SYNs(from, to, netip.MustParseAddr("198.51.100.0"), at) {
		p, err := packets.Parse(frame)
		if err != nil || p.TCP == nil || p.TCP.Flags != packets.SYN || netip.AddrPortFrom(p.IPv4.Destination, p.TCP.Destination) != at {
			t.Fatalf("%v, %v", p, err)
		}
		different[netip.AddrPortFrom(p.IPv4.Source, p.TCP.Source)] = true
	}
	if len(different) < 30_000 {
		t.Errorf("%d strangers", len(different))
	}
}
