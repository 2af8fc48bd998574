package nameserver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/miekg/dns"
)

// upstreamServer answers on loopback with what handle makes of the question.
func upstreamServer(t *testing.T, handle func(w dns.ResponseWriter, m *dns.Msg)) netip.AddrPort {
	t.Helper()
	packets, listener := sockets(t)
	for _, server := range []*dns.Server{{PacketConn: packets}, {Listener: listener}} {
		server.Handler = dns.HandlerFunc(handle)
		started := make(chan struct{})
		server.NotifyStartedFunc = func() { close(started) }
		go func() { _ = server.ActivateAndServe() }()
		<-started
		t.Cleanup(func() { _ = server.Shutdown() })
	}
	return netip.MustParseAddrPort(listener.Addr().String())
}

func answerWith(records ...string) func(dns.ResponseWriter, *dns.Msg) {
	return func(w dns.ResponseWriter, m *dns.Msg) {
		reply := new(dns.Msg).SetReply(m)
		for _, text := range records {
			record, err := dns.NewRR(text)
			if err != nil {
				panic(err)
			}
			if soa, ok := record.(*dns.SOA); ok {
				reply.Ns = append(reply.Ns, soa)
				continue
			}
			reply.Answer = append(reply.Answer, record)
		}
		_ = w.WriteMsg(reply)
	}
}

func answerCode(rcode int) func(dns.ResponseWriter, *dns.Msg) {
	return func(w dns.ResponseWriter, m *dns.Msg) { _ = w.WriteMsg(new(dns.Msg).SetRcode(m, rcode)) }
}

// closedPort is an address where nobody listens.
func closedPort(t *testing.T) netip.AddrPort {
	t.Helper()
	packets, listener := sockets(t)
	_ = packets.Close()
	_ = listener.Close()
	return netip.MustParseAddrPort(listener.Addr().String())
}

const wwwNet = "www.example.net. 300 IN A 192.0.2.80"

func forwarding(t *testing.T, servers ...netip.AddrPort) (*Private, string) {
	t.Helper()
	private := newPrivate(t, func(o *PrivateOptions) { o.Upstream = servers })
	return private, start(t, private)
}

func TestForward(t *testing.T) {
	private, address := forwarding(t, upstreamServer(t, answerWith(wwwNet)))
	for _, network := range []string{"udp", "tcp"} {
		m := request("wWw.eXample.net.", dns.TypeA).SetEdns0(1232, false)
		reply := ask(t, address, network, m)
		if !slices.Equal(texts(reply.Answer), []string{wwwNet}) || reply.Question[0].Name != "wWw.eXample.net." {
			t.Errorf("%s: %v", network, reply)
		}
		if !reply.RecursionAvailable || reply.Authoritative || reply.IsEdns0() == nil {
			t.Errorf("%s: header %v", network, reply.MsgHdr.String())
		}
	}
	if s := private.Statistics(); s.CacheMisses != 1 || s.CacheHits != 1 || s.UpstreamQueries != 1 {
		t.Errorf("counters %+v", s)
	}
}

func TestUpstreamFailover(t *testing.T) {
	good := upstreamServer(t, answerWith(wwwNet))
	for _, test := range []struct {
		about string
		bad   netip.AddrPort
	}{
		{"port closed", closedPort(t)},
		{"SERVFAIL", upstreamServer(t, answerCode(dns.RcodeServerFailure))},
		{"REFUSED", upstreamServer(t, answerCode(dns.RcodeRefused))},
	} {
		t.Run(test.about, func(t *testing.T) {
			private, address := forwarding(t, test.bad, good)
			for i := range 3 {
				reply := ask(t, address, "udp", request(fmt.Sprintf("a%d.example.net.", i), dns.TypeA))
				if reply.Rcode != dns.RcodeSuccess {
					t.Errorf("question %d: %v", i, reply)
				}
			}
			// The server that answered is asked first from then on.
			if s := private.Statistics(); s.UpstreamQueries != 4 || s.UpstreamFailed != 0 {
				t.Errorf("counters %+v", s)
			}
		})
	}
}

func TestUpstreamDead(t *testing.T) {
	private, address := forwarding(t, closedPort(t), closedPort(t))
	reply := ask(t, address, "udp", request("www.example.net.", dns.TypeA))
	if reply.Rcode != dns.RcodeServerFailure || !reply.RecursionAvailable {
		t.Errorf("got %v", reply)
	}
	if s := private.Statistics(); s.UpstreamFailed != 1 {
		t.Errorf("counters %+v", s)
	}
	// Own names do not need upstream.
	if reply := ask(t, address, "udp", request("hosta.foo.example.", dns.TypeA)); len(reply.Answer) != 1 {
		t.Errorf("own name: %v", reply)
	}
}

func TestUpstreamTroubleIsPassedOnWhenAllHaveIt(t *testing.T) {
	_, address := forwarding(t, upstreamServer(t, answerCode(dns.RcodeRefused)))
	if reply := ask(t, address, "udp", request("www.example.net.", dns.TypeA)); reply.Rcode != dns.RcodeRefused {
		t.Errorf("got %v", reply)
	}
}

// A server that knows no EDNS gets the question again without it (RFC 6891
// §6.2.2); one that does has said what is wrong.
func TestUpstreamWithoutEDNS(t *testing.T) {
	for _, rcode := range []int{dns.RcodeFormatError, dns.RcodeNotImplemented} {
		server := upstreamServer(t, func(w dns.ResponseWriter, m *dns.Msg) {
			if m.IsEdns0() != nil {
				_ = w.WriteMsg(new(dns.Msg).SetRcode(&dns.Msg{MsgHdr: m.MsgHdr, Question: m.Question}, rcode))
				return
			}
			answerWith(wwwNet)(w, m)
		})
		private, address := forwarding(t, server)
		reply := ask(t, address, "udp", request("www.example.net.", dns.TypeA).SetEdns0(1232, true))
		if !slices.Equal(texts(reply.Answer), []string{wwwNet}) || private.Statistics().UpstreamQueries != 2 {
			t.Errorf("%s: %v after %d messages", dns.RcodeToString[rcode], reply, private.Statistics().UpstreamQueries)
		}
	}
	private, address := forwarding(t, upstreamServer(t, func(w dns.ResponseWriter, m *dns.Msg) {
		_ = w.WriteMsg(new(dns.Msg).SetRcode(m, dns.RcodeFormatError).SetEdns0(1232, false))
	}))
	if reply := ask(t, address, "udp", request("www.example.net.", dns.TypeA)); reply.Rcode != dns.RcodeFormatError || private.Statistics().UpstreamQueries != 1 {
		t.Errorf("%v after %d messages", reply, private.Statistics().UpstreamQueries)
	}
}

func TestSilentUpstreamIsAskedAgainWithinTheBudget(t *testing.T) {
	private := newPrivate(t, nil)
	var servers []netip.AddrPort
	u := &upstream{
		servers: []netip.AddrPort{netip.MustParseAddrPort("192.0.2.1:53")}, counters: &private.counters, logger: loggerOr(nil),
		exchange: func(ctx context.Context, server netip.AddrPort, m *dns.Msg) (*dns.Msg, error) {
			servers = append(servers, server)
			if len(servers) < upstreamTries {
				return nil, context.DeadlineExceeded // one lost datagram after another
			}
			return new(dns.Msg).SetReply(m), nil
		},
	}
	if _, err := u.ask(t.Context(), dns.Question{Name: "a.example.net.", Qtype: 1, Qclass: 1}, false, false); err != nil {
		t.Error(err)
	}
	if upstreamTries*upstreamPatience > upstreamBudget || upstreamBudget >= 5e9 {
		t.Errorf("%d tries of %v do not fit into %v, or that not into 5 s", upstreamTries, upstreamPatience, upstreamBudget)
	}
	u.exchange = func(context.Context, netip.AddrPort, *dns.Msg) (*dns.Msg, error) { return nil, net.ErrClosed }
	if _, err := u.ask(t.Context(), dns.Question{Name: "a.example.net."}, false, false); !errors.Is(err, errNoAnswer) || !errors.Is(err, net.ErrClosed) {
		t.Errorf("error %v", err)
	}
}

func TestExchangeEndsWithItsContext(t *testing.T) {
	packets, listener := sockets(t) // both take what comes and never answer
	defer func() { _ = packets.Close(); _ = listener.Close() }()
	silent := netip.MustParseAddrPort(listener.Addr().String())
	for _, network := range []string{"udp", "tcp"} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		if reply, err := exchangeOver(ctx, network, silent, request("www.example.net.", dns.TypeA)); err == nil {
			t.Errorf("%s: a reply from nobody: %v", network, reply)
		}
		cancel()
	}
}

func TestTruncatedUpstreamIsAskedOverTCP(t *testing.T) {
	_, address := forwarding(t, upstreamServer(t, func(w dns.ResponseWriter, m *dns.Msg) {
		reply := new(dns.Msg).SetReply(m)
		if w.LocalAddr().Network() == "udp" {
			reply.Truncated = true
		} else {
			for i := range 200 {
				reply.Answer = append(reply.Answer, addressRecord(m.Question[0].Name, 60, netip.AddrFrom4([4]byte{192, 0, 2, byte(i)})))
			}
		}
		_ = w.WriteMsg(reply)
	}))
	if reply := ask(t, address, "tcp", request("big.example.net.", dns.TypeA)); len(reply.Answer) != 200 || reply.Truncated {
		t.Errorf("over TCP %d answers, TC %v", len(reply.Answer), reply.Truncated)
	}
	small := ask(t, address, "udp", request("big.example.net.", dns.TypeA))
	small.Compress = true
	if !small.Truncated || len(small.Answer) >= 200 || small.Len() > 512 {
		t.Errorf("over UDP %d answers in %d octets, TC %v", len(small.Answer), small.Len(), small.Truncated)
	}
}

// A forger who hits the port but not the id or the question is not believed,
// and does not hold off the true answer (RFC 5452 §9.1).
func TestForgedUpstreamReplies(t *testing.T) {
	_, address := forwarding(t, upstreamServer(t, func(w dns.ResponseWriter, m *dns.Msg) {
		forged := func(change func(*dns.Msg)) {
			reply := new(dns.Msg).SetReply(m)
			reply.Answer = []dns.RR{addressRecord(m.Question[0].Name, 60, netip.MustParseAddr("203.0.113.66"))}
			change(reply)
			_ = w.WriteMsg(reply)
		}
		forged(func(r *dns.Msg) { r.Id++ })
		forged(func(r *dns.Msg) { r.Question[0].Name = "else.example.net." })
		forged(func(r *dns.Msg) { r.Question[0].Qtype = dns.TypeAAAA })
		forged(func(r *dns.Msg) { r.Response = false })
		forged(func(r *dns.Msg) { r.Question = nil })
		_, _ = w.Write([]byte{1, 2, 3})
		answerWith(wwwNet)(w, m)
	}))
	if reply := ask(t, address, "udp", request("www.example.net.", dns.TypeA)); !slices.Equal(texts(reply.Answer), []string{wwwNet}) {
		t.Errorf("got %v", reply)
	}
}

func TestEveryUpstreamMessageHasItsOwnPortAndID(t *testing.T) {
	var mu sync.Mutex
	ports, ids := map[string]bool{}, map[uint16]bool{}
	_, address := forwarding(t, upstreamServer(t, func(w dns.ResponseWriter, m *dns.Msg) {
		mu.Lock()
		ports[w.RemoteAddr().String()], ids[m.Id] = true, true
		mu.Unlock()
		answerWith(wwwNet)(w, m)
	}))
	for i := range 20 {
		m := request(fmt.Sprintf("a%d.example.net.", i), dns.TypeA)
		m.Id = 1
		ask(t, address, "udp", m)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(ports) < 15 || len(ids) < 15 {
		t.Errorf("20 messages from %d ports with %d ids", len(ports), len(ids))
	}
}

func TestSameQuestionsUnderWayAreAskedOnce(t *testing.T) {
	const askers = 10
	var asked atomic.Int32
	arrived, release := make(chan struct{}, askers), make(chan struct{})
	private, address := forwarding(t, upstreamServer(t, func(w dns.ResponseWriter, m *dns.Msg) {
		asked.Add(1)
		arrived <- struct{}{}
		<-release
		answerWith(wwwNet)(w, m)
	}))
	replies := make(chan error, askers)
	question := func() {
		client := dns.Client{}
		reply, _, err := client.Exchange(request("www.example.net.", dns.TypeA), address)
		if err == nil && len(reply.Answer) != 1 {
			err = fmt.Errorf("got %v", reply)
		}
		replies <- err
	}
	go question()
	<-arrived
	for range askers - 1 {
		go question()
	}
	deadline := time.After(10 * time.Second)
	for private.Statistics().CacheMisses < askers {
		select {
		case err := <-replies:
			t.Fatalf("an answer before upstream gave one: %v", err)
		case <-deadline:
			t.Fatalf("of %d questions %d wait", askers, private.Statistics().CacheMisses)
		default:
		}
	}
	close(release)
	for range askers {
		if err := <-replies; err != nil {
			t.Error(err)
		}
	}
	// One that counted its miss may have come just after the answer.
	if n := asked.Load(); n > 2 {
		t.Errorf("upstream was asked %d times", n)
	}
}

func TestTooManyQuestionsUnderWay(t *testing.T) {
	server := newPrivate(t, func(o *PrivateOptions) { o.Upstream = []netip.AddrPort{closedPort(t)} })
	for i := range underWay {
		if _, admission := server.waiting.enter(netip.AddrFrom4([4]byte{10, 1, byte(i >> 8), byte(i)}), 1, server.now()); admission != admitted {
			t.Fatalf("question %d may not wait", i)
		}
	}
	query := packed(t, request("www.example.net.", dns.TypeA))
	if reply := through(server, query, UDP); reply != nil {
		t.Errorf("over UDP: %x", reply)
	}
	reply := unpacked(t, through(server, query, TCP))
	if s := server.Statistics(); reply.Rcode != dns.RcodeServerFailure || s.Overloaded != 2 {
		t.Errorf("counters %+v, got %v", s, reply)
	}
}
