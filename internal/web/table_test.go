package web

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/ipv4"
	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
)

// recorder is a data plane that writes down what it is to do.
type recorder struct {
	did     []string
	answers map[model.Tuple]datapath.WebAnswer
}

func (r *recorder) AnswerWeb(flow model.Tuple, a datapath.WebAnswer) error {
	r.did = append(r.did, strings.TrimSpace(fmt.Sprintf("answer %s %s", map[bool]string{true: a.Host.String()}[a.Host.IsValid()], a.Reason)))
	r.answers[flow] = a
	return nil
}

func (r *recorder) ForgetWeb(flow model.Tuple) error {
	r.did = append(r.did, "forget")
	delete(r.answers, flow)
	return nil
}

func (r *recorder) Replay(_ int, frame []byte, times int) error {
	p, err := packets.Parse(frame)
	r.did = append(r.did, fmt.Sprintf("replay %q x%d", p.Payload, times))
	return err
}

func (r *recorder) Send(_ int, frame []byte) error {
	p, err := packets.Parse(frame)
	if err != nil {
		return err
	}
	if !slices.Equal(p.Bytes(), frame) {
		return fmt.Errorf("sent is % x", frame)
	}
	line, _, _ := strings.Cut(string(p.Payload), "\r\n")
	if strings.HasPrefix(line, "\x15") {
		line = "alert"
	}
	r.did = append(r.did, strings.TrimSpace(fmt.Sprintf("send %s %d %d %s", p.TCP.Flags, p.TCP.Sequence, p.TCP.Acknowledge, line)))
	return nil
}

// bed is a table, and its clock.
type bed struct {
	*table
	t      testing.TB
	kernel *recorder
	now    model.Instant
}

const (
	begun  = 1000 // the client's first number
	cookie = 5000 // ours
)

var www = netip.MustParseAddrPort("10.0.0.100:8080")

func newBed(t testing.TB) *bed {
	k := &recorder{answers: map[model.Tuple]datapath.WebAnswer{}}
	find := func(name string, _ model.Tuple) (Target, bool) {
		return Target{Host: "www.example.", To: www, Number: 7, Redirect: name == "secure.example"}, name == "www.example" || name == "secure.example"
	}
	return &bed{table: newTable(k, find, func() int64 { return int64(3 * time.Second) }), t: t, kernel: k, now: 1e9}
}

var visitor = netip.MustParseAddrPort("203.0.113.9:50000")

func flowOf(client netip.AddrPort) model.Tuple {
	return model.Tuple{Protocol: model.TCP, Source: client, Destination: netip.MustParseAddrPort("198.18.0.80:80")}
}

// frame is one of a client that has sent so many octets before.
func frame(flow model.Tuple, offset uint32, data string, change ...func(*packets.Packet)) []byte {
	p := packets.NewTCP(flow.Source, flow.Destination, packets.ACK|packets.PSH, data).Between(packets.RouterMAC, packets.GatewayPublicMAC)
	p.TCP.Sequence, p.TCP.Acknowledge = begun+1+offset, cookie+1
	for _, c := range change {
		c(&p)
	}
	return p.Bytes()
}

// hears has the table hear of an event, and wants these to be done.
func (b *bed) hears(e datapath.WebEvent, want ...string) {
	b.t.Helper()
	e.At = b.now
	if err := b.hear(&e); err != nil {
		b.t.Fatal(err)
	}
	b.done(want...)
}

func (b *bed) done(want ...string) {
	b.t.Helper()
	if !slices.Equal(b.kernel.did, want) {
		b.t.Fatalf("done were\n%s\nwant\n%s", strings.Join(b.kernel.did, "\n"), strings.Join(want, "\n"))
	}
	b.kernel.did = nil
}

func (b *bed) expires() {
	b.t.Helper()
	for more := true; more; {
		var err error
		if more, err = b.expire(b.now, b.now); err != nil {
			b.t.Fatal(err)
		}
	}
}

func (b *bed) waits(d time.Duration, want ...string) {
	b.t.Helper()
	b.now = b.now.Add(d)
	b.expires()
	b.done(want...)
}

func first(data string) datapath.WebEvent {
	return datapath.WebEvent{Kind: datapath.WebFirst, Flow: flowOf(visitor), Frame: frame(flowOf(visitor), 0, data)}
}

func later(offset uint32, data string) datapath.WebEvent {
	return datapath.WebEvent{Kind: datapath.WebLater, Flow: flowOf(visitor), Frame: frame(flowOf(visitor), offset, data)}
}

func about(kind datapath.WebEventKind, reason model.Reason) datapath.WebEvent {
	return datapath.WebEvent{Kind: kind, Flow: flowOf(visitor), Begun: begun, Reason: reason}
}

const (
	request = "GET / HTTP/1.1\r\nHost: www.example\r\n\r\n"
	strange = "GET / HTTP/1.1\r\nHost: other.example\r\n\r\n"
)

// A request in two segments: the first becomes the SYN, and both are sent again when the host has answered.
func TestConnection(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.hears(first(request[:20]))
	b.hears(later(20, request[20:]), "answer 10.0.0.100:8080", fmt.Sprintf("replay %q x2", request[:20]))
	b.hears(later(uint32(len(request)), "more"))
	if n := b.waiting(); n != 1 {
		t.Errorf("%d wait before the host has answered", n)
	}
	b.hears(about(datapath.WebOpened, ""), fmt.Sprintf("replay %q x1", request[:20]), fmt.Sprintf("replay %q x1", request[20:]), `replay "more" x1`)
	if n := b.waiting(); n != 0 {
		t.Errorf("%d wait when it is open", n)
	}
	b.hears(later(uint32(len(request)+4), "late"), `replay "late" x1`) // it was on its way here
	b.waits(time.Second, "forget")
	if c := b.counts; len(b.all) != 0 || b.octets != 0 || c.Read != 1 || c.Opened != 1 || c.Refused != 0 || len(b.source)+len(b.network)+len(b.host) != 0 {
		t.Errorf("left are %+v", b.table)
	}
}

// What comes to nothing, and what its client hears.
func TestRefused(t *testing.T) {
	t.Parallel()
	const seen = begun + 1 + len(strange)
	hello := "\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00"
	for name, c := range map[string]struct {
		event datapath.WebEvent
		want  []string
	}{
		"a name that nobody has": {first(strange), []string{"answer  drop_name_unknown", fmt.Sprintf("replay %q x1", strange),
			fmt.Sprintf("send %s %d %d HTTP/1.1 421 Misdirected Request", packets.PSH|packets.ACK|packets.FIN, cookie+1, seen)}},
		"no words": {first("\x00\x01\x02"), []string{"answer  drop_name_malformed", `replay "\x00\x01\x02" x1`, fmt.Sprintf("send %s %d 0", packets.RST, cookie+1)}},
		"a hello that cannot be read": {first(hello), []string{"answer  drop_name_malformed", fmt.Sprintf("replay %q x1", hello),
			fmt.Sprintf("send %s %d %d alert", packets.PSH|packets.ACK|packets.FIN, cookie+1, begun+1+len(hello))}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBed(t)
			for i := range c.want {
				c.want[i] = strings.Join(strings.Fields(c.want[i]), " ")
			}
			e := c.event
			e.At = b.now
			if err := b.hear(&e); err != nil {
				t.Fatal(err)
			}
			for i := range b.kernel.did {
				b.kernel.did[i] = strings.Join(strings.Fields(b.kernel.did[i]), " ")
			}
			b.done(c.want...)
			b.hears(c.event) // what comes again is nobody's
			b.waits(time.Second, "forget")
		})
	}
}

// Who does not ask in time, and a host that does not answer, or says no.
func TestLate(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	rst := fmt.Sprintf("send %s %d 0", packets.RST, cookie+1)
	b.hears(first(request[:20]))
	b.waits(3*time.Second-1, nil...)
	b.waits(1, "answer  drop_name_late", fmt.Sprintf("replay %q x1", request[:20]), rst)
	b.waits(time.Second, "forget")
	connecting := []string{"answer 10.0.0.100:8080", fmt.Sprintf("replay %q x2", request)}
	b.hears(first(request), connecting...)
	b.waits(3*time.Second, "answer  drop_host_refused", fmt.Sprintf("replay %q x1", request), rst)
	b.waits(time.Second, "forget")
	for _, e := range []datapath.WebEvent{about(datapath.WebRefused, "drop_host_refused"), about(datapath.WebRefused, "drop_denied"), about(datapath.WebWeak, "drop_host_options")} {
		b.hears(first(request), connecting...)
		b.hears(e, "answer  "+string(e.Reason), rst)
		b.waits(time.Second, "forget")
	}
	if len(b.all)+len(b.host)+len(b.source)+b.octets != 0 {
		t.Errorf("left are %+v", b.table)
	}
}

// Nobody takes the places of others.
func TestBounds(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	begin := func(client netip.AddrPort) {
		e := datapath.WebEvent{Kind: datapath.WebFirst, Flow: flowOf(client), Frame: frame(flowOf(client), 0, "GET"), At: b.now}
		if err := b.hear(&e); err != nil {
			t.Fatal(err)
		}
	}
	for port := range uint16(100) {
		begin(netip.AddrPortFrom(visitor.Addr(), 1000+port))
	}
	if len(b.all) != mostOfSource || b.counts.Full != 100-mostOfSource {
		t.Fatalf("%d of a source wait, %d were not heard", len(b.all), b.counts.Full)
	}
	for i := range 1000 {
		begin(netip.AddrPortFrom(netip.AddrFrom4([4]byte{203, 0, 113, byte(i % 250)}), uint16(2000+i/250)))
	}
	if len(b.all) != mostOfNetwork {
		t.Fatalf("%d of a network wait", len(b.all))
	}
	begin(netip.MustParseAddrPort("192.0.2.1:5"))
	if len(b.all) != mostOfNetwork+1 {
		t.Fatal("another network finds no place")
	}
	// A segment that overtook the first one, or of a connection that is forgotten, begins nothing.
	b.hears(later(20, "Host"))
	for i := range uint32(100) {
		b.hears(later(1000*i+20, strings.Repeat("x", 900)))
	}
	if c := b.all[flowOf(visitor)]; c != nil {
		t.Fatal("a later segment has begun a connection")
	}
}

// However a request is cut, put in another order or sent twice, its connection goes to its host, or nowhere.
func TestSegmentsOfAnyKind(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(d *rapid.T) {
		b := newBed(t)
		cuts := rapid.SliceOfN(rapid.IntRange(1, len(request)-1), 0, 4).Draw(d, "cuts")
		cuts = append(cuts, 0, len(request))
		slices.Sort(cuts)
		cuts = slices.Compact(cuts)
		pieces := make([]datapath.WebEvent, 0, len(cuts))
		for i := range len(cuts) - 1 {
			pieces = append(pieces, later(uint32(cuts[i]), request[cuts[i]:cuts[i+1]]))
		}
		pieces[0].Kind = datapath.WebFirst
		order := append([]datapath.WebEvent{pieces[0]}, rapid.Permutation(append(slices.Clone(pieces), pieces...)).Draw(d, "order")...)
		for _, e := range order {
			e.At = b.now
			if err := b.hear(&e); err != nil {
				d.Fatal(err)
			}
		}
		if a := b.kernel.answers[flowOf(visitor)]; a.Host != www {
			d.Fatalf("it goes to %+v", a)
		}
	})
}

// A sender leaves the checksum to its interface, an interface damages a frame, another has options: of any of them what is
// sent again is whole, or nothing is.
func TestFrames(t *testing.T) {
	t.Parallel()
	whole := frame(flowOf(visitor), 0, "GET /", func(p *packets.Packet) {
		p.TCP.Options = binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32([]byte{1, 1, 8, 10}, 11), 22)
	})
	list, err := parseSegments(slices.Clone(whole), 0)
	if err != nil {
		t.Fatal(err)
	}
	s := list[0]
	if string(s.Payload) != "GET /" || s.Sequence != begun+1 || s.acknowledges != cookie+1 || !s.stamped || s.value != 11 || s.echo != 22 {
		t.Fatalf("%+v, %v", s, err)
	}
	if !s.isFar(23) || s.isFar(22) {
		t.Error("the round trip is not read")
	}
	partial := slices.Clone(whole)
	left, err := ipv4.Parse(partial)
	if err != nil {
		t.Fatal(err)
	}
	left.Leave()
	if list, err = parseSegments(partial, 0); err != nil || !slices.Equal(list[0].Frame, whole) {
		t.Errorf("% x, %v", partial, err)
	}
	for at := ipv4.LinkHeader + ipv4.IPHeader; at < len(whole); at++ {
		damaged := slices.Clone(whole)
		damaged[at] ^= 0x10
		if _, err := parseSegments(damaged, 0); err == nil {
			t.Errorf("damaged at %d it is taken", at)
		}
	}
	for length := range whole {
		if _, err := parseSegments(slices.Clone(whole[:length]), 0); err == nil {
			t.Errorf("%d octets of it are taken", length)
		}
	}
	answer := s.answer(ipv4.RST, 5, 6, nil)
	p, err := packets.Parse(answer)
	if err != nil || !slices.Equal(p.Bytes(), answer) || p.Ethernet.Destination != packets.RouterMAC || p.Ethernet.Source != packets.GatewayPublicMAC {
		t.Errorf("%s, %v", p, err)
	}
}

// Who asks a name in the clear that wants none of that is led to https, but for what ACME asks the host.
func TestRedirect(t *testing.T) {
	t.Parallel()
	for request, want := range map[string]string{
		"GET /a?b=c HTTP/1.1\r\nHost: secure.example:80\r\n\r\n":                     "HTTP/1.1 308 Permanent Redirect",
		"GET /.well-known/acme-challenge/x HTTP/1.1\r\nHost: secure.example\r\n\r\n": "",
		"OPTIONS * HTTP/1.1\r\nHost: secure.example\r\n\r\n":                         "",
		"GET http://secure.example/ HTTP/1.1\r\nHost: secure.example\r\n\r\n":        "",
		"GET /\xc3\xa4 HTTP/1.1\r\nHost: secure.example\r\n\r\n":                     "",
		"GET / HTTP/1.1\r\nHost: www.example\r\n\r\n":                                "",
	} {
		b := newBed(t)
		e := first(request)
		e.At = b.now
		if err := b.hear(&e); err != nil {
			t.Fatal(err)
		}
		last := b.kernel.did[len(b.kernel.did)-1]
		if led := strings.Contains(last, "308"); led != (want != "") || led && !strings.HasSuffix(last, want) {
			t.Errorf("%q: %q", request, b.kernel.did)
		}
		if led := b.kernel.answers[flowOf(visitor)].Reason == reasonRedirected; led != (want != "") {
			t.Errorf("%q: %+v", request, b.kernel.answers)
		}
	}
	if got := string(redirection("secure.example", []byte("GET /a?b=c HTTP/1.1\r\n"))); !strings.Contains(got, "\r\nLocation: https://secure.example/a?b=c\r\n") {
		t.Errorf("%q", got)
	}
}
