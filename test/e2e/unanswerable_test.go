package e2e

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/realmgate/realmgate/internal/lab/netns"
	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/test/lab"
)

// upstreamAt answers questions at a node's port 53, UDP and TCP, as handle does; what handle has no reply for is never
// answered.
func (r *realm) upstreamAt(at netns.Node, handle func(question *dns.Msg) (reply *dns.Msg)) {
	r.t.Helper()
	address := netip.AddrPortFrom(at.IP, 53).String()
	packets, err := at.ListenPacket("udp4", address)
	if err != nil {
		r.t.Fatal(err)
	}
	listener, err := at.Listen("tcp4", address)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, server := range []*dns.Server{{PacketConn: packets}, {Listener: listener}} {
		server.Handler = dns.HandlerFunc(func(w dns.ResponseWriter, question *dns.Msg) {
			if reply := handle(question); reply != nil {
				_ = w.WriteMsg(reply)
			}
		})
		started := make(chan struct{})
		server.NotifyStartedFunc = func() { close(started) }
		go func() { _ = server.ActivateAndServe() }()
		<-started
		r.t.Cleanup(func() { _ = server.Shutdown() })
	}
}

// replyWith answers a question with records.
func replyWith(question *dns.Msg, records ...string) *dns.Msg {
	reply := new(dns.Msg).SetReply(question)
	for _, text := range records {
		record, err := dns.NewRR(text)
		if err != nil {
			panic(err)
		}
		reply.Answer = append(reply.Answer, record)
	}
	return reply
}

// questions sends a question for a name of its own after the other from a host's eth0 to the inside resolver, so many a
// second, until the context ends, as from the addresses that as gives. It returns how many it has sent.
func (r *realm) questions(ctx context.Context, from netns.Node, as func(n int) netip.Addr, rate int) (sent *atomic.Int64) {
	r.t.Helper()
	send := r.sender(from, r.gatewayMAC(r.Gateway.Private[0]))
	to := netip.AddrPortFrom(r.Gateway.PrivateAddress, 53)
	sent = new(atomic.Int64)
	var running sync.WaitGroup
	running.Go(func() {
		question := new(dns.Msg).SetQuestion("n.unanswered.example.", dns.TypeA)
		for began, n := time.Now(), 0; ctx.Err() == nil; n++ {
			if n%16 == 0 {
				time.Sleep(time.Until(began.Add(time.Duration(n) * time.Second / time.Duration(rate))))
			}
			question.Question[0].Name = fmt.Sprintf("n%d.unanswered.example.", sent.Add(1))
			wire, err := question.Pack()
			if err != nil {
				panic(err)
			}
			send(packets.NewUDP(netip.AddrPortFrom(as(n), uint16(1024+n%60000)), to, string(wire))) //nolint:gosec // below 61024
		}
	})
	r.t.Cleanup(running.Wait)
	return sent
}

// field-attacks.md A8: one host asks names that nobody answers, 1,500 and 15,000 a second (50,000 in the lengthy part); of
// another host's questions at least 99 of 100 are answered meanwhile; without a host's share 13 were.
//
// The fiercest floods leave the sockets of a loaded machine no time, and they lose anybody's packets. Of them 50 are
// wanted, and more by how many questions the gateway answers itself meanwhile, and how many of those that it forwards come
// to the upstream: a question from upstream's names passes the gateway's queues twice and the upstream's once.
func TestUnanswerableQuestionsTakeNothingFromOthers(t *testing.T) {
	r := newRealm(t, netns.Options{Hosts: 2, Resolver: true})
	var arrived atomic.Int64
	r.upstreamAt(*r.Resolver, func(question *dns.Msg) *dns.Msg {
		arrived.Add(1)
		if name := question.Question[0].Name; strings.HasPrefix(name, "good") {
			return replyWith(question, name+" 0 IN A 198.51.100.10")
		}
		return nil
	})
	d := r.start(r.configuration())
	attacker, bystander, gateway := r.Hosts()[0], r.Hosts()[1], r.Gateway.PrivateAddress
	const tries = 100
	one := func(int) netip.Addr { return attacker.IP }
	neighbours := func(n int) netip.Addr { return netip.AddrFrom4([4]byte{10, 0, 100, byte(n)}) }
	type flood struct {
		who         string
		as          func(int) netip.Addr
		rate, least int // a second; of 100 questions, whatever the machine loses
	}
	floods := []flood{{"one address", one, 1_500, 99}, {"one address", one, 15_000, 99}, {"256 addresses", neighbours, 5_000, 99}}
	if lab.Lengthy() {
		floods = append(floods, flood{"one address", one, 50_000, 50}, flood{"256 addresses", neighbours, 15_000, 50})
	}
	stop, named := "ip route add blackhole "+attacker.IP.String(), false
	for _, f := range floods {
		rate := f.rate
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		sent := r.questions(ctx, attacker, f.as, rate)
		before := d.status().DNS
		eventually(t, 20*time.Second, "the flood has all that one host may have", func() bool {
			now := d.status().DNS
			return now.WaitLimited-before.WaitLimited > uint64(rate) || now.Forwarded-before.Forwarded > 8192
		})
		ask := func(name string) string {
			out, err := bystander.Command(ctx, "dig", "+short", "+tries=1", "+time=5", "@"+gateway.String(), name).CombinedOutput()
			if err != nil {
				return ""
			}
			return strings.TrimSpace(string(out))
		}
		answered, own, began, first, came, forwarded := 0, 0, time.Now(), sent.Load(), arrived.Load(), d.status().DNS.Forwarded
		for i := range tries {
			if ask(fmt.Sprintf("good%d-%d.%d.example", rate, i, len(f.who))) == "198.51.100.10" {
				answered++
			}
			if ask("ns.foo.example") != "" {
				own++
			}
		}
		kept := float64(own) / tries
		upstream := min(1, float64(arrived.Load()-came)/float64(d.status().DNS.Forwarded-forwarded))
		least := max(float64(f.least), tries*0.99*kept*kept*upstream)
		t.Logf("%d of %d answered, at least %.1f should, while one host asked %.0f times a second as %s; %d of the gateway's own, and %.3f of the forwarded came to the upstream",
			answered, tries, least, float64(sent.Load()-first)/time.Since(began).Seconds(), f.who, own, upstream)
		named = named || d.warning(stop) != "" // that is of what was lately
		cancel()
		if float64(answered) < least {
			t.Errorf("%d of %d answered, at least %.1f should, while one host asked %d times a second as %s", answered, tries, least, rate, f.who)
		}
	}
	if !named {
		t.Errorf("nothing has said %q", stop)
	}
	r.command("gateway", strings.Fields(stop)...)
	if out, err := attacker.Command(t.Context(), "dig", "+tries=1", "+time=1", "@"+gateway.String(), "ns.foo.example").CombinedOutput(); err == nil {
		t.Errorf("after %q the host is answered:\n%s", stop, out)
	}
	if log := d.logged(); !strings.Contains(log, "host="+attacker.IP.String()) {
		t.Errorf("the log does not name who asked so much")
	}
}
