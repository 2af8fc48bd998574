package datapath

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/siphash"
	"github.com/realmgate/realmgate/test/dataplane"
	"github.com/realmgate/realmgate/test/frames"
)

const lentName = "www.hosta.foo.example."

// secrets are of DNS cookies: this one's, and the one before it.
var secrets = [2][16]byte{{1, 2, 3}, {4, 5, 6}}

// named has the gateway's name server at its public address.
func named(s *setup) { s.NameServer = netip.AddrPortFrom(publicAddress, 53) }

// asked is a gateway whose name server lives and lends lentName.
func asked(t testing.TB, options ...option) *gateway {
	t.Helper()
	g := newGateway(t, append(options, named)...)
	g.lends(map[model.Name]datapath.Lent{lentName: datapath.LentA | datapath.LentAAAA | datapath.LentHTTPS})
	check(t, g.data.Heartbeat(secrets))
	return g
}

func (g *gateway) lends(names map[model.Name]datapath.Lent) {
	g.t.Helper()
	if left, err := g.data.SetLentNames(names); err != nil || left > 0 {
		g.t.Fatalf("%d names have no room, %v", left, err)
	}
}

// datagram is a message to the name server.
func datagram(from netip.AddrPort, message []byte) packets.Packet {
	return packets.NewUDP(from, netip.AddrPortFrom(publicAddress, 53), string(message))
}

var askedFrom = endpoint(remote, 40000)

// question is a message that asks, with an OPT record if there are options or size is not 0.
func question(t testing.TB, name string, qtype, size uint16, options ...dns.EDNS0) []byte {
	t.Helper()
	m := new(dns.Msg).SetQuestion(name, qtype)
	m.Id = 0x1234
	if size > 0 || len(options) > 0 {
		m.SetEdns0(max(size, 512), false).IsEdns0().Option = options
	}
	return must(m.Pack())(t)
}

// cookieOption is a COOKIE option: that of a client, and a server cookie if there is one.
func cookieOption(octets ...byte) dns.EDNS0 {
	return &dns.EDNS0_LOCAL{Code: dns.EDNS0COOKIE, Data: octets}
}

var clientCookie = []byte{9, 8, 7, 6, 5, 4, 3, 2}

// serverCookie is what the name server gives the asker (RFC 9018 section 4.4).
func serverCookie(secret [16]byte, asker netip.Addr, made time.Time) []byte {
	head := append([]byte{1, 0, 0, 0}, binary.BigEndian.AppendUint32(nil, uint32(made.Unix()))...)
	sum := siphash.Sum(&secret, append(append(append([]byte(nil), clientCookie...), head...), asker.AsSlice()...))
	return binary.LittleEndian.AppendUint64(head, sum)
}

// truncated wants the question answered by TC=1, and returns the message.
func (g *gateway) truncated(p packets.Packet, reason model.Reason) []byte {
	g.t.Helper()
	return g.tellsByTCP(p, g.put(p), reason)
}

// tellsByTCP wants r, what became of question p, to be such an answer.
func (g *gateway) tellsByTCP(p packets.Packet, r result, reason model.Reason) []byte {
	g.t.Helper()
	if r.action != dataplane.Redirect || r.reason != reason || r.packet.UDP == nil {
		g.t.Fatalf("%v, %s, %s: want it answered", r.action, r.reason, r.packet)
	}
	message := r.packet.Payload
	want := packets.NewUDP(p.Tuple().Destination, p.Tuple().Source, string(message)).Between(packets.GatewayPublicMAC, packets.RouterMAC)
	want.IPv4.TTL, want.IPv4.DF, want.IPv4.ID = 64, true, 0
	want.Ethernet.Source = r.packet.Ethernet.Source
	if diff := frames.Diff(want.Bytes(), r.frame); diff != "" {
		g.t.Fatalf("the answer is not as wanted:\n%s", diff)
	}
	if len(message) > len(p.Payload) {
		g.t.Fatalf("%d octets for %d", len(message), len(p.Payload))
	}
	return []byte(message)
}

func (g *gateway) toDaemon(p packets.Packet) {
	g.t.Helper()
	g.passed(g.put(p), "to_gateway", addressed(p).Bytes())
}

// Who has not proved its address is told to come by TCP, in the octets that the name server has
// for it: id, flags, the letters as asked, an OPT record where there was one.
func TestUnprovedAskersAreToldToComeByTCP(t *testing.T) {
	t.Parallel()
	g := asked(t)
	for name, message := range map[string][]byte{
		"plain": question(t, lentName, dns.TypeA, 0), "0x20": question(t, "wWw.HostA.fOO.eXample.", dns.TypeA, 0),
		"EDNS": question(t, lentName, dns.TypeA, 1232), "AAAA": question(t, lentName, dns.TypeAAAA, 1232), "HTTPS": question(t, lentName, dns.TypeHTTPS, 0),
		"client cookie": question(t, lentName, dns.TypeA, 1232, cookieOption(clientCookie...)),
	} {
		t.Run(name, func(t *testing.T) {
			got := g.truncated(datagram(askedFrom, message), "answered_question")
			want := new(dns.Msg)
			check(t, want.Unpack(message))
			want.Response, want.Authoritative, want.Truncated = true, true, true
			if opt := want.IsEdns0(); opt != nil {
				opt.Option = nil
				opt.SetUDPSize(1232)
			}
			if octets := must(want.Pack())(t); !bytes.Equal(got, octets) {
				t.Errorf("%x, want %x", got, octets)
			}
		})
	}
}

// What is not a plain question for a lent name is the daemon's to answer.
func TestOtherQuestionsReachTheDaemon(t *testing.T) {
	t.Parallel()
	g := asked(t)
	plain := question(t, lentName, dns.TypeA, 0)
	changed := func(at int, octets ...byte) []byte {
		m := bytes.Clone(plain)
		copy(m[at:], octets)
		return m
	}
	for name, message := range map[string][]byte{
		"another name": question(t, "ftp.hosta.foo.example.", dns.TypeA, 0), "below it": question(t, "a."+lentName, dns.TypeA, 0),
		"another type": question(t, lentName, dns.TypeTXT, 0), "an answer": changed(2, 0x80), "an update": changed(2, 0x28),
		"no question": changed(4, 0, 0), "two questions": changed(4, 0, 2), "an answer beside it": changed(6, 0, 1),
		"another class": changed(len(plain)-2, 0, 3), "cut": plain[:len(plain)-1], "longer": append(bytes.Clone(plain), 0),
		"a pointer": changed(12, 0xc0, 12), "a label of 64": changed(12, 64), "only a header": plain[:12], "nothing": {},
		"two records": changed(10, 0, 2), "a record that is not there": changed(10, 0, 1),
		"for whom":           question(t, lentName, dns.TypeA, 1232, &dns.EDNS0_SUBNET{Code: dns.EDNS0SUBNET, Family: 1, SourceNetmask: 24, Address: remote.AsSlice()}),
		"cookie of 7":        question(t, lentName, dns.TypeA, 1232, cookieOption(clientCookie[:7]...)),
		"two cookies":        question(t, lentName, dns.TypeA, 1232, cookieOption(clientCookie...), cookieOption(clientCookie...)),
		"padded, not for A":  question(t, lentName, dns.TypeAAAA, 1232, &dns.EDNS0_PADDING{Padding: make([]byte, 64)}),
		"longer than others": question(t, lentName, dns.TypeA, 1232, &dns.EDNS0_PADDING{Padding: make([]byte, 500)}),
	} {
		t.Run(name, func(t *testing.T) { g.toDaemon(datagram(askedFrom, message)) })
	}
	options := datagram(askedFrom, plain)
	options.IPv4.Options = []byte{1, 1, 1, 0}
	g.toDaemon(options)
	g.toDaemon(datagram(endpoint(remote, 0), plain))
	g.toDaemon(packets.NewTCP(askedFrom, netip.AddrPortFrom(publicAddress, 53), packets.SYN, ""))
}

// A cookie that the name server has given to this asker proves its address, for an hour, with
// either secret.
func TestCookiesAreCheckedBeforeTheDaemon(t *testing.T) {
	t.Parallel()
	g := asked(t)
	now := time.Now()
	for name, test := range map[string]struct {
		server []byte
		good   bool
	}{
		"this secret's": {serverCookie(secrets[0], remote, now), true}, "the last secret's": {serverCookie(secrets[1], remote, now), true},
		"50 minutes old": {serverCookie(secrets[0], remote, now.Add(-50*time.Minute)), true},
		"an hour old":    {serverCookie(secrets[0], remote, now.Add(-61*time.Minute)), false},
		"4 minutes off":  {serverCookie(secrets[0], remote, now.Add(4*time.Minute)), true},
		"6 minutes off":  {serverCookie(secrets[0], remote, now.Add(6*time.Minute)), false},
		"another's":      {serverCookie(secrets[0], remote2, now), false},
		"made of zeros":  {serverCookie([16]byte{}, remote, now), false},
		"version 2":      {append([]byte{2}, serverCookie(secrets[0], remote, now)[1:]...), false},
		"of 8 octets":    {serverCookie(secrets[0], remote, now)[:8], false},
		"of 32 octets":   {append(serverCookie(secrets[0], remote, now), make([]byte, 16)...), false},
	} {
		t.Run(name, func(t *testing.T) {
			option := cookieOption(append(bytes.Clone(clientCookie), test.server...)...)
			padding := &dns.EDNS0_PADDING{Padding: make([]byte, 3)}
			for _, options := range [][]dns.EDNS0{{option}, {padding, option}, {option, padding}, {&dns.EDNS0_NSID{Code: dns.EDNS0NSID}, padding, option, padding}} {
				p := datagram(askedFrom, question(t, lentName, dns.TypeA, 1232, options...))
				if test.good {
					g.toDaemon(p)
					continue
				}
				g.truncated(p, "answered_question")
			}
		})
	}
}

// Where the question has room for it, the answer brings a fresh cookie, which is good.
func TestFreshCookieComesWithTheAnswer(t *testing.T) {
	t.Parallel()
	g := asked(t)
	stale := serverCookie(secrets[0], remote, time.Now().Add(-2*time.Hour))
	message := g.truncated(datagram(askedFrom, question(t, lentName, dns.TypeA, 1232, cookieOption(append(bytes.Clone(clientCookie), stale...)...))), "answered_question")
	answer := new(dns.Msg)
	check(t, answer.Unpack(message))
	opt := answer.IsEdns0()
	if opt == nil || len(opt.Option) != 1 {
		t.Fatalf("no cookie in %v", answer)
	}
	g.toDaemon(datagram(askedFrom, question(t, lentName, dns.TypeA, 1232, opt.Option[0])))
}

// While no daemon lives nobody is told to come by TCP, and nothing is limited.
func TestQuestionsAreTheKernelsWithoutADaemon(t *testing.T) {
	t.Parallel()
	g := asked(t)
	p := datagram(askedFrom, question(t, lentName, dns.TypeA, 0))
	g.truncated(p, "answered_question")
	check(t, g.data.StopHeartbeat())
	for range 1000 {
		g.toDaemon(p)
	}
	check(t, g.data.Heartbeat(secrets))
	g.truncated(p, "answered_question")
}

// Names that the daemon lends no more are its own again.
func TestLentNamesFollowTheDaemon(t *testing.T) {
	t.Parallel()
	g := asked(t)
	other := "a.b.hostb.foo.example."
	g.lends(map[model.Name]datapath.Lent{model.Name(other): datapath.LentA})
	g.toDaemon(datagram(askedFrom, question(t, lentName, dns.TypeA, 0)))
	g.toDaemon(datagram(askedFrom, question(t, other, dns.TypeAAAA, 0)))
	g.truncated(datagram(askedFrom, question(t, other, dns.TypeA, 0)), "answered_question")
}

// Whose next questions the daemon awaits it sees, for a while.
func TestAwaitedAskersReachTheDaemon(t *testing.T) {
	t.Parallel()
	g := asked(t)
	p := datagram(askedFrom, question(t, lentName, dns.TypeA, 0))
	g.data.Await(remote, time.Second)
	g.toDaemon(p)
	g.truncated(datagram(endpoint(remote2, 40000), question(t, lentName, dns.TypeA, 0)), "answered_question")
	g.data.Await(remote, -time.Second)
	g.truncated(p, "answered_question")
}

// A name server at an address that it shares with outbound NAT is asked like another.
func TestQuestionsToASharedAddress(t *testing.T) {
	t.Parallel()
	at := netip.AddrPortFrom(outbound, 53)
	g := asked(t, shared)
	p := packets.NewUDP(askedFrom, at, string(question(t, lentName, dns.TypeA, 0)))
	g.toDaemon(p) // the name server is elsewhere
	g.settings.NameServer = at
	g.in(func() error { _, err := g.data.SetPolicy(g.settings, g.services, nil); return err })
	g.truncated(p, "answered_question")
}

// Who is banned, or is not who it says, is told nothing.
func TestBannedAskersAreToldNothing(t *testing.T) {
	t.Parallel()
	g := asked(t)
	message := question(t, lentName, dns.TypeA, 0)
	g.ban(datapath.Forever, netip.PrefixFrom(remote, 32))
	g.dropped(g.put(datagram(askedFrom, message)), "drop_banned")
	g.truncated(datagram(endpoint(remote2, 40000), message), "answered_question")
	spoofed := outside(datagram(endpoint(hostA, 40000), message))
	g.dropped(g.send(true, spoofed.Bytes()), "drop_spoofed_source")
}
