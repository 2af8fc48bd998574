package e2e

import (
	"bufio"
	"io"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/lab/netns"
)

// bannerServer sends its banner to whoever has sent a line.
func bannerServer(t *testing.T, at netns.Node, port int, banner string) {
	t.Helper()
	accepts(t, at, port, func(c net.Conn) {
		defer c.Close()
		if _, err := bufio.NewReader(c).ReadString('\n'); err == nil {
			_, _ = io.WriteString(c, banner+"\n")
		}
	})
}

// greets connects, says a line and returns the answer.
func greets(t *testing.T, from netns.Node, to netip.AddrPort, line string, patience time.Duration) (string, error) {
	t.Helper()
	c, err := from.DialContext(t.Context(), "tcp4", to.String())
	if err != nil {
		t.Fatalf("no connection: %v", err) // first bytes come only then
	}
	defer c.Close()
	return answer(c, line, patience)
}

func answer(c net.Conn, line string, patience time.Duration) (string, error) {
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		return "", err
	}
	if _, err := io.WriteString(c, line+"\n"); err != nil {
		return "", err
	}
	return bufio.NewReader(c).ReadString('\n')
}

// The guide's first-bytes drops requests that are none of those that it allows, or one
// that it denies, and an SSH banner on its way out; other flows pass, and the function is
// asked about their first bytes alone.
func TestGuideFirstBytes(t *testing.T) {
	t.Parallel()
	r := newRealm(t, netns.Options{Hosts: 1, Clients: 1})
	r.webServers()
	bannerServer(t, r.Clients[0], 2222, "hello")
	d := r.start(r.configuration() + r.guide("first-bytes.md", "www.hosta.foo.example.", "www."+hostName(0)))
	lent := func() netip.Addr { return r.mustLend(r.Clients[0], "www."+hostName(0)) }
	if page, err := curl(r.Clients[0], lent(), 80); err != nil || page != hostName(0)+"\n" {
		t.Errorf("a page is %q: %v", page, err)
	}
	if page, err := curl(r.Clients[0], lent(), 80, "--max-time", "2", "--request-target", "/admin/users"); err == nil {
		t.Errorf("what is denied is %q", page)
	}
	if said, err := greets(t, r.Clients[0], netip.AddrPortFrom(lent(), 80), "SSH-2.0-OpenSSH_10.0", awaited[false]); err == nil {
		t.Errorf("a web server says to SSH: %q", said)
	}
	if f := d.functions("web")[0]; f.Dropped == 0 {
		t.Errorf("what first-bytes did: %+v", f)
	}
	out := netip.AddrPortFrom(r.Clients[0].IP, 2222)
	if said, err := greets(t, r.Hosts()[0], out, "SSH-2.0-OpenSSH_10.0", awaited[false]); err == nil {
		t.Errorf("SSH went out, and was told %q", said)
	}
	before := d.functions("out")[0]
	if before.Dropped == 0 {
		t.Errorf("what first-bytes did on the way out: %+v", before)
	}
	if said, err := greets(t, r.Hosts()[0], out, "something else", awaited[true]); err != nil || said != "hello\n" {
		t.Errorf("something else went out, and was told %q: %v", said, err)
	}
}
