package demo

import (
	"context"
	"fmt"
	"net"
	"net/netip"

	"github.com/miekg/dns"
)

// resolver is the resolver of the people outside. It knows where the two zones are
// served and the website's address, keeps nothing, and tells in an additional
// TXT record what it did.
type resolver struct {
	gateway netip.Addr
	website string
	address netip.Addr
}

func newResolver(gateway, website, address string) (*resolver, error) {
	at, err := netip.ParseAddr(gateway)
	if err != nil {
		return nil, err
	}
	of, err := netip.ParseAddr(address)
	if err != nil {
		return nil, err
	}
	return &resolver{gateway: at, website: website, address: of}, nil
}

// What the resolver tells of a question of its own.
const (
	traceTruncated = "UDP: told to come over TCP"
	traceUDP       = "UDP: answered"
	traceTCP       = "TCP: answered"
)

func (r *resolver) serve(ctx context.Context, packets net.PacketConn) error {
	server := &dns.Server{PacketConn: packets, Handler: dns.HandlerFunc(func(w dns.ResponseWriter, query *dns.Msg) {
		_ = w.WriteMsg(r.answer(ctx, query)) // who gets no answer asks again
	})}
	stop := context.AfterFunc(ctx, func() { _ = server.Shutdown() })
	defer stop()
	return server.ActivateAndServe()
}

func (r *resolver) answer(ctx context.Context, query *dns.Msg) *dns.Msg {
	if len(query.Question) != 1 {
		return new(dns.Msg).SetRcode(query, dns.RcodeFormatError)
	}
	q := query.Question[0]
	switch {
	case dns.IsSubDomain(zone, dns.CanonicalName(q.Name)), dns.IsSubDomain(otherZone, dns.CanonicalName(q.Name)):
		return r.forward(ctx, query)
	case dns.CanonicalName(q.Name) == r.website:
		reply := new(dns.Msg).SetReply(query)
		if q.Qtype == dns.TypeA {
			reply.Answer = []dns.RR{&dns.A{Hdr: header(q.Name, dns.TypeA, 60), A: r.address.AsSlice()}}
		}
		return reply
	}
	return new(dns.Msg).SetRcode(query, dns.RcodeNameError)
}

func header(name string, kind uint16, ttl uint32) dns.RR_Header {
	return dns.RR_Header{Name: name, Rrtype: kind, Class: dns.ClassINET, Ttl: ttl}
}

// forward asks the gateway, over UDP and then as it is told.
func (r *resolver) forward(ctx context.Context, query *dns.Msg) *dns.Msg {
	question := new(dns.Msg)
	question.SetQuestion(query.Question[0].Name, query.Question[0].Qtype).RecursionDesired = false
	where := netip.AddrPortFrom(r.gateway, 53).String()
	trace := traceUDP
	asker := dns.Client{Net: "udp", Timeout: patience * 3 / 4}
	got, _, err := asker.ExchangeContext(ctx, question, where)
	did := []string{}
	if err == nil && got.Truncated {
		did, trace = append(did, traceTruncated), traceTCP
		asker.Net = "tcp"
		got, _, err = asker.ExchangeContext(ctx, question, where)
	}
	if err != nil {
		trace, got = fmt.Sprint("failed: ", err), new(dns.Msg)
		got.Rcode = dns.RcodeServerFailure
	}
	reply := new(dns.Msg).SetRcode(query, got.Rcode)
	reply.Answer = got.Answer
	reply.Extra = []dns.RR{&dns.TXT{Hdr: header("resolver.", dns.TypeTXT, 0), Txt: append(did, trace)}}
	return reply
}
