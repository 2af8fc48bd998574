package nameserver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"strings"
	"sync/atomic"
	"time"

	"github.com/miekg/dns"
)

const (
	// upstreamBudget is how long one question may take in all, so that its
	// asker hears SERVFAIL before the 5 s after which stub resolvers give up.
	upstreamBudget = 4500 * time.Millisecond
	// upstreamPatience is how long one server may take to answer.
	upstreamPatience = 1500 * time.Millisecond
	// upstreamTries is the least number of messages a question is worth, so
	// that a lost datagram is sent again to a lone server.
	upstreamTries = 3
)

var errNoAnswer = errors.New("no upstream server gave an answer")

// exchanger sends one question to one server and returns a reply that belongs
// to it. Tests replace it.
type exchanger func(ctx context.Context, server netip.AddrPort, m *dns.Msg) (*dns.Msg, error)

// upstream asks other servers, starting with the one that answered last.
type upstream struct {
	servers   []netip.AddrPort
	preferred atomic.Uint32 // index into servers
	exchange  exchanger
	counters  *counters
	logger    *slog.Logger
}

// ask returns the first useful reply of the servers in turn. A reply that
// reports the server's own trouble is passed on only if none has a better one.
func (u *upstream) ask(ctx context.Context, question dns.Question, do, cd bool) (*dns.Msg, error) {
	ctx, cancel := context.WithTimeout(ctx, upstreamBudget)
	defer cancel()
	patience := min(upstreamPatience, upstreamBudget/time.Duration(len(u.servers)))
	var troubled *dns.Msg
	var failures error
	first := u.preferred.Load()
	for try := range uint32(max(upstreamTries, len(u.servers))) {
		if ctx.Err() != nil {
			break
		}
		index := (first + try) % uint32(len(u.servers))
		u.counters.upstreamQueries.Add(1)
		m, err := u.once(ctx, patience, u.servers[index], question, do, cd)
		if err != nil {
			failures = errors.Join(failures, fmt.Errorf("%s: %w", u.servers[index], err))
			continue
		}
		if troubles(m.Rcode) {
			troubled = m
			if try+1 >= uint32(len(u.servers)) {
				break // every server has had its turn
			}
			continue
		}
		if index != first && u.preferred.CompareAndSwap(first, index) {
			u.logger.Warn("upstream DNS server changed",
				"silent", u.servers[first].String(), "now", u.servers[index].String())
		}
		return m, nil
	}
	if troubled != nil {
		return troubled, nil
	}
	return nil, fmt.Errorf("%w to %s: %w", errNoAnswer, question.Name, failures)
}

func (u *upstream) once(ctx context.Context, patience time.Duration, server netip.AddrPort, question dns.Question, do, cd bool) (*dns.Msg, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	m := &dns.Msg{Question: []dns.Question{question}}
	m.Id = dns.Id() // cryptographic random, new for every message
	m.RecursionDesired = true
	m.CheckingDisabled = cd
	m.SetEdns0(ownSize, do)
	reply, err := u.exchange(ctx, server, m)
	if err != nil || !unaware(reply) {
		return reply, err
	}
	m.Id, m.Extra = dns.Id(), nil
	u.counters.upstreamQueries.Add(1)
	return u.exchange(ctx, server, m)
}

// unaware reports a reply by which a server says that it knows no EDNS: ask
// again without (RFC 6891 §6.2.2).
func unaware(reply *dns.Msg) bool {
	return (reply.Rcode == dns.RcodeFormatError || reply.Rcode == dns.RcodeNotImplemented) && reply.IsEdns0() == nil
}

// troubles reports codes by which a server says that it cannot or will not
// answer, so that another may.
func troubles(rcode int) bool {
	return rcode != dns.RcodeSuccess && rcode != dns.RcodeNameError
}

// exchange asks over UDP and, when the reply is truncated, over TCP. Every
// message has a socket of its own and so a random source port (RFC 5452 §9.2).
func exchange(ctx context.Context, server netip.AddrPort, m *dns.Msg) (*dns.Msg, error) {
	reply, err := exchangeOver(ctx, "udp", server, m)
	if err == nil && reply.Truncated {
		reply, err = exchangeOver(ctx, "tcp", server, m)
	}
	return reply, err
}

func exchangeOver(ctx context.Context, network string, server netip.AddrPort, m *dns.Msg) (*dns.Msg, error) {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, network, server.String())
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }()
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	wire := &dns.Conn{Conn: conn, UDPSize: bufferSize}
	if err := wire.WriteMsg(m); err != nil {
		return nil, err
	}
	for {
		octets, err := wire.ReadMsgHeader(nil)
		if err != nil && !errors.Is(err, dns.ErrShortRead) {
			return nil, err
		}
		reply := new(dns.Msg)
		// A datagram that does not fit is a forgery or a stray: the true one
		// may still come (RFC 5452 §9.1).
		if err == nil && reply.Unpack(octets) == nil && belongs(reply, m) {
			return reply, nil
		}
		if network == "tcp" {
			return nil, fmt.Errorf("the reply from %s over TCP is not for our question", server)
		}
	}
}

// belongs reports whether reply answers exactly what was asked.
func belongs(reply, m *dns.Msg) bool {
	if !reply.Response || reply.Id != m.Id || reply.Opcode != dns.OpcodeQuery || len(reply.Question) != 1 {
		return false
	}
	got, want := reply.Question[0], m.Question[0]
	return got.Qtype == want.Qtype && got.Qclass == want.Qclass && strings.EqualFold(got.Name, want.Name)
}
