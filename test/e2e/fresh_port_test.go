package e2e

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/realmgate/realmgate/internal/lab/netns"
	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
)

// freshPorts sends a question to a name server outside from a port of its own each, so many a second, as a resolver
// inside does, until the context ends. It returns how many it has sent.
func (r *realm) freshPorts(ctx context.Context, from netns.Node, to netip.AddrPort, rate int) (sent *atomic.Int64) {
	r.t.Helper()
	send := r.sender(from, r.gatewayMAC(r.Gateway.Private[0]))
	wire, err := new(dns.Msg).SetQuestion("n.example.", dns.TypeA).Pack()
	if err != nil {
		r.t.Fatal(err)
	}
	sent = new(atomic.Int64)
	var running sync.WaitGroup
	running.Go(func() {
		for began, n := time.Now(), 0; ctx.Err() == nil; n++ {
			if n%16 == 0 {
				due := began.Add(time.Duration(n) * time.Second / time.Duration(rate))
				time.Sleep(time.Until(due))
				began = began.Add(max(0, time.Since(due))) // who was held up does not send faster after that
			}
			send(packets.NewUDP(netip.AddrPortFrom(from.IP, uint16(1024+n%64512)), to, string(wire))) //nolint:gosec // below 65536
			sent.Add(1)
		}
	})
	r.t.Cleanup(running.Wait)
	return sent
}

// unexpected counts the datagrams that came to a node where no program has the port, as answers to freshPorts do.
func unexpected(t *testing.T, at netns.Node) (n int64) {
	t.Helper()
	text, err := at.Command(t.Context(), "cat", "/proc/net/snmp").Output()
	if err != nil {
		t.Fatal(err)
	}
	var lines [][]string // names, then values
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "Udp:") {
			lines = append(lines, strings.Fields(line))
		}
	}
	if n, err = strconv.ParseInt(lines[1][slices.Index(lines[0], "NoPorts")], 10, 64); err != nil {
		t.Fatal(err)
	}
	return n
}

// RFC 4787 REQ-5a and RFC 6888 REQ-8c: a resolver inside that takes 1,800 fresh ports a second, and so would have all
// 64,512 of the outbound address after 36 s, has every answer with the limits and timeouts that nobody has set, and
// leaves ports and sessions for ordinary hosts.
func TestResolverInsideLeavesPortsForOthers(t *testing.T) {
	t.Parallel()
	r := newRealm(t, netns.Options{Hosts: 2, Servers: 1})
	server := r.Servers[0]
	var answered atomic.Int64
	r.upstreamAt(server, func(question *dns.Msg) *dns.Msg {
		if question.Question[0].Name == "n.example." { // the resolver's
			answered.Add(1)
		}
		return replyWith(question, question.Question[0].Name+" 0 IN A 198.51.100.10")
	})
	webServer(t, server, 8080, "outside")
	d := r.start(with(r.configuration(), "capacity:")) // the default, of which host_sessions is a share
	resolver, host := r.Hosts()[0], r.Hosts()[1]
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	const rate, ports, tries = 1_800, 64_512, 100
	sent := r.freshPorts(ctx, resolver, netip.AddrPortFrom(server.IP, 53), rate)
	eventually(t, 90*time.Second, "the resolver has used each port once", func() bool { return sent.Load() > ports+10*rate })
	asked, fetched := 0, 0
	for i := range tries {
		out, err := host.Command(ctx, "dig", "+short", "+tries=1", "+time=5", "@"+server.IP.String(), fmt.Sprintf("n%d.example", i)).CombinedOutput()
		if err == nil && strings.TrimSpace(string(out)) == "198.51.100.10" {
			asked++
		}
		if page, err := curl(host, server.IP, 8080); err == nil && strings.TrimSpace(page) == "outside" {
			fetched++
		}
	}
	s := d.status()
	cancel()
	eventually(t, 10*time.Second, "every answer is back", func() bool { return unexpected(t, resolver) == answered.Load() })
	if n, all := answered.Load(), sent.Load(); n < all*99/100 {
		t.Errorf("%d of %d questions of the resolver were answered", n, all)
	}
	t.Logf("%d questions of the resolver; %d of %d others answered, %d of %d pages fetched; %d sessions, %d mappings", sent.Load(), asked, tries, fetched, tries, s.Sessions.Used, s.Mappings.Used)
	if asked < tries*99/100 || fetched < tries*99/100 {
		t.Errorf("beside a resolver %d of %d questions were answered, and %d pages fetched", asked, tries, fetched)
	}
	for _, reason := range []model.Reason{"drop_no_port", "drop_session_table_full", "drop_host_ports", "drop_host_sessions", "drop_host_rate"} {
		if n := d.counted(reason); n > 0 {
			t.Errorf("%d packets: %s", n, reason)
		}
	}
	if s.Sessions.Used > 9*rate || s.Mappings.Used > 9*rate {
		t.Errorf("%d sessions and %d mappings stand for questions of six seconds", s.Sessions.Used, s.Mappings.Used)
	}
}
