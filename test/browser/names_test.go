package browser

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/miekg/dns"

	"github.com/realmgate/realmgate/internal/lab/netns"
)

// delegation is a zone that the root server leaves to another one.
type delegation struct {
	zone, server string // names
	address      netip.Addr
}

func (d delegation) ns() dns.RR {
	return &dns.NS{Hdr: header(d.zone, dns.TypeNS, 3600), Ns: d.server}
}

func (d delegation) a() dns.RR {
	return &dns.A{Hdr: header(d.server, dns.TypeA, 3600), A: d.address.AsSlice()}
}

// names is a name server for the root, with delegations, or for one zone below
// it. All that it answers has a TTL of 0, but delegations,
// and addresses where ttl says more.
type names struct {
	self        delegation // the zone, and how the server itself is called
	delegations []delegation
	ttl         uint32 // of addresses, in seconds
	// addresses gives the addresses of a name; nil where there is none. It is
	// asked once for each question for an A record.
	addresses func(name string) []netip.Addr

	mutex sync.Mutex
	given map[string]time.Time // name and address → when they were last in an answer
	count map[string]int       // name → questions for its addresses
}

// serve answers at an address of the node until the test ends.
func (w *world) serve(n *names, node *netns.Namespace, at netip.Addr) *names {
	w.t.Helper()
	n.given, n.count = map[string]time.Time{}, map[string]int{}
	address := netip.AddrPortFrom(at, 53).String()
	packets, err := node.ListenPacket("udp4", address)
	if err != nil {
		w.t.Fatal(err)
	}
	listener, err := node.Listen("tcp4", address)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, server := range []*dns.Server{{PacketConn: packets, Handler: n}, {Listener: listener, Handler: n}} {
		go func() { _ = server.ActivateAndServe() }()
		w.t.Cleanup(func() { _ = server.Shutdown() })
	}
	return n
}

// ServeDNS implements dns.Handler.
func (n *names) ServeDNS(writer dns.ResponseWriter, question *dns.Msg) {
	reply := new(dns.Msg).SetReply(question)
	if len(question.Question) == 1 {
		n.answer(reply, question.Question[0])
	}
	_ = writer.WriteMsg(reply)
}

func (n *names) answer(reply *dns.Msg, q dns.Question) {
	name := strings.ToLower(q.Name)
	for _, d := range n.delegations {
		if dns.IsSubDomain(d.zone, name) {
			reply.Ns, reply.Extra = []dns.RR{d.ns()}, []dns.RR{d.a()}
			return
		}
	}
	reply.Authoritative = true
	switch {
	case q.Qtype == dns.TypeNS && name == n.self.zone:
		reply.Answer, reply.Extra = []dns.RR{n.self.ns()}, []dns.RR{n.self.a()}
		return
	case q.Qtype == dns.TypeA && name == n.self.server:
		reply.Answer = []dns.RR{n.self.a()}
		return
	case q.Qtype == dns.TypeA:
		for _, a := range n.give(name) {
			reply.Answer = append(reply.Answer, &dns.A{Hdr: header(q.Name, dns.TypeA, n.ttl), A: a.AsSlice()})
		}
	}
	if len(reply.Answer) == 0 {
		reply.Ns = []dns.RR{&dns.SOA{
			Hdr: header(n.self.zone, dns.TypeSOA, 0), Ns: n.self.server, Mbox: "root." + n.self.server,
			Serial: 1, Refresh: 3600, Retry: 600, Expire: 86400,
		}}
	}
}

func (n *names) give(name string) []netip.Addr {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	given := n.addresses(name)
	n.count[name]++
	for _, a := range given {
		n.given[name+a.String()] = time.Now()
	}
	return given
}

// lastGiven is when the address was last in an answer for the name.
func (n *names) lastGiven(name string, a netip.Addr) time.Time {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	return n.given[name+a.String()]
}

// asked is how many questions for the name's addresses have come.
func (n *names) asked(name string) int {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	return n.count[name]
}

func header(name string, kind uint16, ttl uint32) dns.RR_Header {
	return dns.RR_Header{Name: name, Rrtype: kind, Class: dns.ClassINET, Ttl: ttl}
}

// fixed gives each name its one address.
func fixed(addresses map[string]netip.Addr) func(string) []netip.Addr {
	return func(name string) []netip.Addr {
		if a, ok := addresses[name]; ok {
			return []netip.Addr{a}
		}
		return nil
	}
}

// lookUp asks a resolver for the addresses of a name, from a node.
func lookUp(from netns.Node, resolver netip.Addr, name string, limit time.Duration) ([]netip.Addr, error) {
	connection, err := from.DialFrom(background, "udp4", netip.AddrPortFrom(from.IP, 0), netip.AddrPortFrom(resolver, 53).String())
	if err != nil {
		return nil, err
	}
	defer connection.Close()
	client := dns.Client{Timeout: limit}
	question := new(dns.Msg).SetQuestion(name, dns.TypeA)
	reply, _, err := client.ExchangeWithConn(question, &dns.Conn{Conn: connection})
	if err != nil {
		return nil, fmt.Errorf("look up %s: %w", name, err)
	}
	var found []netip.Addr
	for _, record := range reply.Answer {
		if a, ok := record.(*dns.A); ok {
			address, _ := netip.AddrFromSlice(a.A.To4())
			found = append(found, address)
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("look up %s: %s and no address", name, dns.RcodeToString[reply.Rcode])
	}
	return slices.Compact(found), nil
}
