package datapath

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/lab/netns"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/nameserver"
	"github.com/realmgate/realmgate/test/dataplane"
)

var questionCount = flag.Int("questions", 30_000, "of TestAnswersAreTheNameServers")

// names is a realm of two lent names; the name server itself lends nobody anything.
type names map[model.Name]nameserver.Entry

func (n names) Find(name model.Name) (nameserver.Entry, bool) { e, ok := n[name]; return e, ok }
func (n names) Reverse(netip.Addr) (name model.Name, ok bool) { return "", false }
func (n names) Lent(model.Name) (list []model.Name)           { return slices.Collect(keysOf(n)) }
func (n names) WebNames(model.Name) []model.Name              { return nil }
func (n names) Exists(name model.Name) bool {
	for known := range n {
		if known.In(name) {
			return true
		}
	}
	return false
}

func keysOf(n names) func(func(model.Name) bool) {
	return func(yield func(model.Name) bool) {
		for name := range n {
			if !yield(name) {
				return
			}
		}
	}
}

// Allocate implements nameserver.Allocator.
func (names) Allocate(context.Context, nameserver.Question) (nameserver.Answer, error) {
	return nameserver.Answer{}, nameserver.ErrExhausted
}

// oracle is a name server that answers what it is asked.
type oracle struct {
	t      testing.TB
	server *nameserver.Public
	socket net.Conn // an asker's, of the address remote
}

func newOracle(t testing.TB, l *netns.Lab) *oracle {
	t.Helper()
	web := nameserver.Entry{Address: hostA, Ports: []model.Port{tcpPort(80, 80)}}
	realm := names{lentName: web, "a.b.hostb.foo.example.": web}
	server := must(nameserver.NewPublic(nameserver.PublicOptions{
		Zones: []nameserver.Zone{{Name: "foo.example."}}, Nameserver: "ns.foo.example.", NameserverAddress: publicAddress,
		CookieSecrets: []nameserver.CookieSecret{secrets[0], secrets[1]}, Directory: func() nameserver.Directory { return realm }, Allocator: realm,
	}))(t)
	namespace := must(l.Namespace("oracle"))(t)
	check(t, namespace.Up("lo"))
	check(t, namespace.Address("lo", publicAddress.String()+"/32"))
	check(t, namespace.Address("lo", remote.String()+"/32"))
	socket := must(namespace.ListenPacket("udp4", publicAddress.String()+":53"))(t)
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- server.Serve(ctx, socket, nil) }()
	t.Cleanup(func() {
		stop()
		check(t, <-done)
	})
	asker := must(namespace.DialFrom(ctx, "udp4", netip.AddrPortFrom(remote, 0), publicAddress.String()+":53"))(t)
	t.Cleanup(func() { _ = asker.Close() })
	return &oracle{t: t, server: server, socket: asker}
}

// ask returns the answer of the name server.
func (o *oracle) ask(message []byte) []byte {
	o.t.Helper()
	_ = must(o.socket.Write(message))(o.t)
	check(o.t, o.socket.SetReadDeadline(time.Now().Add(5*time.Second)))
	answer := make([]byte, 1500)
	n, err := o.socket.Read(answer)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil
	}
	check(o.t, err)
	return answer[:n]
}

// asking makes questions of every kind.
type asking struct{ *rand.Rand }

func (r asking) name() string {
	name := []byte([]string{lentName, lentName, lentName, lentName, lentName, lentName, lentName, lentName, "a.b.hostb.foo.example.", "ftp.hosta.foo.example.", "x." + lentName, "foo.example.", "example.", ".",
		"www.hosta.foo.exampl.", "ns.foo.example.", "w\\119w.hosta.foo.example.", "w\\.ww.hosta.foo.example."}[r.IntN(18)])
	for i, c := range name {
		if c >= 'a' && c <= 'z' && r.IntN(3) == 0 {
			name[i] = c - 'a' + 'A'
		}
	}
	return string(name)
}

// option is one of an OPT record; good says that it proves the asker.
func (r asking) option() (option dns.EDNS0, good bool) {
	now := time.Now()
	cookie := func(server []byte) dns.EDNS0 { return cookieOption(append(bytes.Clone(clientCookie), server...)...) }
	switch r.IntN(9) {
	case 0:
		return cookie(nil), false
	case 1:
		return cookie(serverCookie(secrets[r.IntN(2)], remote, now.Add(-time.Duration(r.IntN(59))*time.Minute))), true
	case 2:
		return cookie(serverCookie(secrets[r.IntN(2)], remote, now.Add(-time.Duration(61+r.IntN(600))*time.Minute))), false
	case 3:
		return cookie(serverCookie(secrets[r.IntN(2)], remote2, now)), false
	case 4:
		return cookieOption(make([]byte, r.IntN(48))...), false
	case 5:
		return &dns.EDNS0_SUBNET{Code: dns.EDNS0SUBNET, Family: 1, SourceNetmask: 24, Address: remote.AsSlice()}, false
	case 6:
		return &dns.EDNS0_NSID{Code: dns.EDNS0NSID}, false
	case 7:
		return &dns.EDNS0_LOCAL{Code: uint16(r.IntN(1 << 16)), Data: make([]byte, r.IntN(20))}, false
	}
	return &dns.EDNS0_PADDING{Padding: make([]byte, r.IntN(100))}, false
}

// message is a question. told says that it is to be answered by TC=1, and proved that it is not, whatever it asks.
func (r asking) message(t testing.TB) (message []byte, told, proved bool) {
	t.Helper()
	name := r.name()
	m := new(dns.Msg).SetQuestion(name, []uint16{dns.TypeA, dns.TypeA, dns.TypeA, dns.TypeAAAA, dns.TypeHTTPS, dns.TypeTXT, dns.TypeANY, dns.TypeIXFR, dns.TypeOPT, uint16(r.IntN(1 << 16))}[r.IntN(10)])
	m.Id = uint16(r.IntN(1 << 16))
	m.RecursionDesired, m.CheckingDisabled, m.AuthenticatedData, m.Zero = r.IntN(2) == 0, r.IntN(2) == 0, r.IntN(2) == 0, r.IntN(8) == 0
	m.Authoritative, m.Truncated, m.RecursionAvailable = r.IntN(8) == 0, r.IntN(8) == 0, r.IntN(8) == 0
	if r.IntN(20) == 0 {
		m.Question[0].Qclass = uint16(r.IntN(5))
	}
	plain, cookies := true, 0
	if r.IntN(4) > 0 {
		opt := m.SetEdns0(uint16(r.IntN(5000)), r.IntN(2) == 0).IsEdns0()
		if r.IntN(30) == 0 {
			opt.SetVersion(uint8(r.IntN(3)))
		}
		for range r.IntN(5) {
			option, good := r.option()
			_, other := option.(*dns.EDNS0_LOCAL)
			plain = plain && (good || !other)
			proved = proved || good
			if option.Option() == dns.EDNS0COOKIE {
				cookies++
			}
			opt.Option = append(opt.Option, option)
		}
		plain = plain && opt.Version() == 0 && !slices.ContainsFunc(opt.Option, func(o dns.EDNS0) bool { return o.Option() == dns.EDNS0SUBNET })
		proved = proved && opt.Version() == 0 && cookies == 1
	}
	class := m.Question[0].Qclass == dns.ClassINET
	operation := m.Question[0].Qtype == dns.TypeOPT || m.Question[0].Qtype >= dns.TypeTKEY && m.Question[0].Qtype <= dns.TypeMAILA
	canonical := dns.CanonicalName(name)
	told = plain && class && cookies == 0 && m.Question[0].Qtype == dns.TypeA && (canonical == lentName || canonical == "a.b.hostb.foo.example.")
	message = must(m.Pack())(t)
	return message, told && len(message) <= 448, proved && class && !operation && len(message) <= 448
}

// broken is the message with some octets otherwise.
func (r asking) broken(message []byte) []byte {
	message = bytes.Clone(message)
	for range 1 + r.IntN(3) {
		switch at := r.IntN(len(message)); r.IntN(6) {
		case 0:
			message = append(message[:at], message[min(len(message), at+1+r.IntN(4)):]...)
		case 1:
			message = slices.Insert(message, at, byte(r.IntN(256)))
		case 2:
			message[at] = 0xc0
		case 3:
			binary.BigEndian.PutUint16(message[min(at, len(message)-2):], uint16(r.IntN(4)))
		default:
			message[at] ^= 1 << r.IntN(8)
		}
		if len(message) < 2 {
			return []byte{1, 2}
		}
	}
	return message
}

// What the programs answer has the octets that the name server has for it, or is the question with TC=1
// where a limit is reached; it is never longer than the question, and the name server takes it for one.
func TestAnswersAreTheNameServers(t *testing.T) {
	t.Parallel()
	g := asked(t)
	o := newOracle(t, g.lab)
	lent := map[model.Name]datapath.Lent{}
	for _, name := range o.server.LentNames() {
		lent[name.Name] = datapath.LentA | datapath.LentAAAA | datapath.LentHTTPS
		if !slices.Equal(name.Types, []uint16{dns.TypeA, dns.TypeAAAA, dns.TypeHTTPS}) {
			t.Fatalf("%s: %v", name.Name, name.Types)
		}
	}
	g.lends(lent)
	r := asking{randomSource(t)}
	var answered, slowed, passed int
	var last time.Time
	beat := func() {
		check(t, g.data.Heartbeat(secrets))
		last = time.Now()
	}
	for i := range *questionCount {
		if time.Since(last) > datapath.HeartbeatLasts/5 {
			beat()
		}
		message, told, proved := r.message(t)
		if r.IntN(3) == 0 {
			message, told, proved = r.broken(message), false, false
		}
		got, authoritative := g.answerTo(message)
		if got == nil && time.Since(last) >= datapath.HeartbeatLasts { // others had the CPUs meanwhile: it is asked again
			beat()
			got, authoritative = g.answerTo(message)
		}
		switch {
		case got == nil && told:
			t.Fatalf("question %d is left to the daemon: %x", i, message)
		case got == nil:
			passed++
			continue
		case proved && authoritative:
			t.Fatalf("question %d has a good cookie, and is told to come by TCP: %x", i, message)
		case len(got) > len(message):
			t.Fatalf("question %d is answered by %d octets: %x", i, len(got), message)
		}
		want := o.ask(message)
		if !authoritative {
			slowed++
			sameQuestion(t, message, got, want)
			continue
		}
		answered++
		if !bytes.Equal(got, want) { // a second may have passed between the two cookies
			if got, _ = g.answerTo(message); !bytes.Equal(got, o.ask(message)) {
				t.Fatalf("question %d, %x: answered by\n%x, and by the name server\n%x", i, message, got, want)
			}
		}
	}
	t.Logf("%d were answered, %d slowed, %d left to the daemon", answered, slowed, passed)
	if answered*20 < *questionCount || slowed == 0 || passed == 0 {
		t.Error("too few of a kind were tried")
	}
}

// answerTo returns the message that answers one, nil for none, and whether it is said with authority.
func (g *gateway) answerTo(message []byte) (answer []byte, authoritative bool) {
	g.t.Helper()
	var action dataplane.Action
	var frame []byte
	g.in(func() (err error) {
		action, frame, err = g.inject(true, g.public, addressed(datagram(askedFrom, message)).Bytes())
		return err
	})
	if action != dataplane.Redirect {
		return nil, false
	}
	answer = frame[14+20+8:]
	return answer, answer[2]&4 != 0
}

// sameQuestion wants the answer to be the question with TC=1 and no authority, and the name server to have taken
// it for a question without a fault.
func sameQuestion(t *testing.T, message, got, daemon []byte) {
	t.Helper()
	answer, other := new(dns.Msg), new(dns.Msg)
	if answer.Unpack(got) != nil || other.Unpack(daemon) != nil {
		t.Fatalf("%x is answered by %x, and by the name server %x", message, got, daemon)
	}
	end := 12
	for got[end] != 0 {
		end += 1 + int(got[end])
	}
	end += 5
	if !answer.Response || !answer.Truncated || answer.Authoritative || answer.Rcode != dns.RcodeSuccess || len(answer.Question) != 1 ||
		len(answer.Answer)+len(answer.Ns) > 0 || (answer.IsEdns0() == nil) != (end == len(message)) ||
		!bytes.Equal(got[:2], message[:2]) || !bytes.Equal(got[12:end], message[12:end]) || (got[2]^message[2])&1 != 0 || (got[3]^message[3])&0x10 != 0 {
		t.Fatalf("%x is answered by %v", message, answer)
	}
	if other.Rcode == dns.RcodeFormatError || other.Rcode == dns.RcodeNotImplemented || other.Rcode == dns.RcodeBadVers {
		t.Fatalf("%x is answered by %v, and by the name server %v", message, answer, other)
	}
}
