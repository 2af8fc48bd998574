package e2e

import (
	"context"
	"net"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/lab/netns"
)

// guide returns the chains of a page's first example, with names and addresses of the
// lab instead of the page's.
func (r *realm) guide(page string, replaced ...string) string {
	r.t.Helper()
	return r.guideFrom("chains", page, replaced...)
}

// guideFrom is what a page's first example has from a key on.
func (r *realm) guideFrom(key, page string, replaced ...string) string {
	r.t.Helper()
	text, err := os.ReadFile("../../docs/guide/" + page)
	if err != nil {
		r.t.Fatal(err)
	}
	_, block, _ := strings.Cut(string(text), "```yaml\n")
	block, _, _ = strings.Cut(block, "```")
	_, rest, found := strings.Cut("\n"+block, "\n"+key+":\n")
	if !found {
		r.t.Fatalf("the first example of %s has no %s", page, key)
	}
	return key + ":\n" + r.replaced(page, rest, replaced)
}

// guideBlock is a page's example, counted from 0.
func (r *realm) guideBlock(page string, n int, replaced ...string) string {
	r.t.Helper()
	text, err := os.ReadFile("../../docs/guide/" + page)
	if err != nil {
		r.t.Fatal(err)
	}
	parts := strings.Split(string(text), "```")
	if len(parts) <= 2*n+2 {
		r.t.Fatalf("%s has no example %d", page, n)
	}
	_, block, _ := strings.Cut(parts[2*n+1], "\n") // without its language
	return r.replaced(page, block, replaced)
}

// replaced puts each second word in place of the one before it, which has to be there.
func (r *realm) replaced(page, text string, words []string) string {
	r.t.Helper()
	for i := 0; i < len(words); i += 2 {
		if !strings.Contains(text, words[i]) {
			r.t.Fatalf("the example of %s has no %s", page, words[i])
		}
		text = strings.ReplaceAll(text, words[i], words[i+1])
	}
	return text
}

// The guide's filter denies whom it names.
func TestGuideFilter(t *testing.T) {
	t.Parallel()
	r := newRealm(t, netns.Options{Hosts: 1, Clients: 2})
	r.echoServers()
	d := r.start(r.configuration() + r.guide("filter.md", "ntp.hosta.foo.example.", "echo."+hostName(0), "203.0.113.0/24", r.Clients[1].IP.String()))
	r.mustReach(r.Clients[0], 0)
	address := r.mustLend(r.Clients[1], "echo."+hostName(0))
	if who, err := echo(r.Clients[1], netip.AddrPort{}, echoAddress(address)); err == nil {
		t.Errorf("who is denied reached %s", who)
	}
	if f := d.functions("ntp")[0]; f.Dropped == 0 {
		t.Errorf("what the filter did: %+v", f)
	}
}

// The guide's dos-denial cuts a flood off in the window after it, and nobody else; and
// lets who is quiet for a window in again.
func TestGuideDoSDenial(t *testing.T) {
	r := newRealm(t, netns.Options{Hosts: 1, Clients: 2})
	r.echoServers()
	d := r.start(r.configuration() + r.guide("dos-denial.md", "ntp.hosta.foo.example.", "echo."+hostName(0)))
	flood, quiet := r.conversation(r.Clients[0], 0), r.conversation(r.Clients[1], 0)
	eventually(t, 20*time.Second, "the flood is cut off", func() bool {
		for range 500 {
			if _, err := flood.Write([]byte("x")); err != nil {
				t.Fatal(err)
			}
		}
		return d.functions("ntp")[0].Dropped > 0
	})
	if who, err := echoOn(quiet); err != nil || who != hostName(0) {
		t.Errorf("who is quiet reached %q: %v", who, err)
	}
	eventually(t, 20*time.Second, "who floods no more is let in again", func() bool { _, err := echoOn(flood); return err == nil })
}

// The guide's rate-limit lets so many new flows out at once, and does not count packets
// of those that are open.
func TestGuideRateLimit(t *testing.T) {
	const burst = 20
	r := newRealm(t, netns.Options{Hosts: 1, Clients: 1})
	echoServer(t, r.Clients[0], 7, "client")
	d := r.start(r.configuration() + r.guide("rate-limit.md"))
	var open []net.Conn
	for range 10 * burst {
		connection, err := r.Hosts()[0].DialContext(context.Background(), "udp4", r.Clients[0].IP.String()+":7")
		if err != nil {
			t.Fatal(err)
		}
		defer connection.Close()
		if _, err := connection.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		open = append(open, connection)
	}
	f := d.functions("out")[0]
	if f.Seen != uint64(len(open)) || f.Dropped == 0 || f.Seen-f.Dropped < burst {
		t.Errorf("of %d new flows: %+v, want %d or a few more to pass", len(open), f, burst)
	}
	for range 2 * burst {
		if who, err := echoOn(open[0]); err != nil || who != "client" {
			t.Fatalf("the first flow reached %q: %v", who, err)
		}
	}
	if again := d.functions("out")[0]; again.Seen != f.Seen {
		t.Errorf("%d packets of an open flow were counted", again.Seen-f.Seen)
	}
}

// The guide's dnat sends a port of the outbound address to one host, and an address of
// its own to another.
func TestGuideDnat(t *testing.T) {
	t.Parallel()
	r := newRealm(t, netns.Options{Hosts: 2, Clients: 1})
	r.webServers()
	whole := r.Gateway.Pool.Addr().Prev()
	r.start(r.configuration() + r.guide("dnat.md", "198.18.0.3", whole.String(), "198.18.0.2", r.Gateway.Outbound.String(),
		"10.0.0.100", r.Hosts()[0].IP.String(), "10.0.0.101", r.Hosts()[1].IP.String()))
	for host, to := range []netip.AddrPort{netip.AddrPortFrom(r.Gateway.Outbound, 8000), netip.AddrPortFrom(whole, 8080)} {
		if page, err := curl(r.Clients[0], to.Addr(), int(to.Port())); err != nil || page != hostName(host)+"\n" {
			t.Errorf("%s is %q: %v", to, page, err)
		}
	}
}

// The guide's jump takes one host's flows to a stricter chain.
func TestGuideJump(t *testing.T) {
	t.Parallel()
	r := newRealm(t, netns.Options{Hosts: 2, Clients: 1})
	echoServer(t, r.Clients[0], 7, "client")
	echoServer(t, r.Clients[0], 53, "client")
	d := r.start(r.configuration() + r.guide("jump.md", "10.0.0.100", r.Hosts()[0].IP.String()))
	for _, c := range []struct {
		host, port int
		passes     bool
	}{{0, 53, true}, {0, 7, false}, {1, 53, true}, {1, 7, true}} {
		to := netip.AddrPortFrom(r.Clients[0].IP, uint16(c.port))
		if _, err := echo(r.Hosts()[c.host], netip.AddrPort{}, to); (err == nil) != c.passes {
			t.Errorf("host %d to port %d: %v", c.host, c.port, err)
		}
	}
	if f := d.functions("strict")[0]; f.Seen < 2 || f.Dropped == 0 {
		t.Errorf("what the stricter chain did: %+v", f)
	}
}
