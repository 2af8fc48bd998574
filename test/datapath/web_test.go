package datapath

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/test/dataplane"
)

// webAddress is a web address, at which webPlace serves.
var (
	webAddress = netip.MustParseAddr("198.18.0.80")
	webPlace   = endpoint(webAddress, 80)
	webHost    = endpoint(hostA, 8080)
)

// serves has the gateway serve names at webAddress.
func (g *gateway) serves(promise datapath.WebPromise) {
	g.t.Helper()
	g.servesAt(webAddress, promise)
}

func (g *gateway) servesAt(address netip.Addr, promise datapath.WebPromise) {
	g.t.Helper()
	g.in(func() error {
		g.settings.WebTCP, g.settings.WebUDP = []uint16{80, 443}, []uint16{443}
		_, err := g.data.SetPolicy(g.settings, g.services, nil)
		return errors.Join(err, g.data.SetWebAddresses([]netip.Addr{address}),
			g.data.SetWebPromises(map[netip.Addr]datapath.WebPromise{address: promise}), g.data.WebHeartbeat())
	})
}

// allPromised is what hosts promise that can all.
var allPromised = datapath.WebPromise{MSS: 1460, SACK: true, Timestamps: true}

// tells wants events of these kinds, and no more.
func (g *gateway) tells(kinds ...datapath.WebEventKind) (all []datapath.WebEvent) {
	g.t.Helper()
	var events *datapath.Events[datapath.WebEvent]
	g.in(func() (err error) { events, err = g.data.WebEvents(); return err })
	defer func() { _ = events.Close() }()
	events.SetDeadline(time.Now())
	for {
		e, err := events.Next()
		if errors.Is(err, os.ErrDeadlineExceeded) {
			break
		}
		check(g.t, err)
		all = append(all, e)
	}
	told := make([]datapath.WebEventKind, len(all))
	for i, e := range all {
		told[i] = e.Kind
	}
	if !slices.Equal(told, kinds) {
		g.t.Fatalf("events of the kinds %d, want %d: %v", told, kinds, all)
	}
	return all
}

// ability is what a TCP end can.
type ability struct {
	mss              uint16
	scale            int // -1: none
	sack, timestamps bool
}

func (a ability) String() string {
	return fmt.Sprintf("mss %d scale %d sack %t timestamps %t", a.mss, a.scale, a.sack, a.timestamps)
}

// options are those of a SYN, or of a SYN and ACK, laid out as Linux does.
func (a ability) options(value, echo uint32) (o []byte) {
	o = append(o, 2, 4, byte(a.mss>>8), byte(a.mss))
	if a.sack {
		o = append(o, 4, 2)
	}
	if a.timestamps {
		o = append(o, 8, 10)
		o = binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(o, value), echo)
	}
	if a.scale >= 0 {
		o = append(o, 1, 3, 3, byte(a.scale))
	}
	return o
}

func stamps(value, echo uint32) []byte {
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32([]byte{1, 1, 8, 10}, value), echo)
}

// read is what a segment's options say; value and echo are of timestamps.
func read(p packets.Packet) (a ability, value, echo uint32) {
	a.scale = -1
	for o := p.TCP.Options; len(o) > 0 && o[0] != 0; {
		if o[0] == 1 {
			o = o[1:]
			continue
		}
		switch o[0] {
		case 2:
			a.mss = binary.BigEndian.Uint16(o[2:])
		case 3:
			a.scale = int(o[2])
		case 4:
			a.sack = true
		case 8:
			a.timestamps = true
			value, echo = binary.BigEndian.Uint32(o[2:]), binary.BigEndian.Uint32(o[6:])
		}
		o = o[o[1]:]
	}
	return a, value, echo
}

// visit is a connection by name as its client and host see it.
type visit struct {
	*gateway
	client, to netip.AddrPort
	at         netip.AddrPort // its host
	isn        uint32         // the client's
	can, host  ability
	cookie     uint32                // our number
	clock      uint32                // our timestamp
	difference uint32                // to the client, of the host's numbers
	syn        string                // layouts of the options of the client's SYN,
	synAck     string                // and of its host's SYN and ACK; without one, as Linux
	ticks      uint32                // and of its timestamps
	begins     func(*packets.Packet) // what else its SYN has
}

var (
	clientClock = uint32(77777)
	hostClock   = uint32(0xfffffff0) // soon wraps
)

// visitor is a client that wants webHost.
func (g *gateway) visitor(client netip.AddrPort, can, host ability) *visit {
	return &visit{gateway: g, client: client, to: webPlace, can: can, host: host, at: webHost, isn: clientISN}
}

func (v *visit) from(flags packets.Flags, sequence, acknowledge uint32, data string, options []byte) packets.Packet {
	return with(segment(v.client, v.to, flags, sequence, acknowledge), data).Change(func(p *packets.Packet) { p.TCP.Options = options })
}

// knocks says SYN, and reads the answer.
func (v *visit) knocks(promise datapath.WebPromise) {
	v.t.Helper()
	p := v.from(packets.SYN, v.isn, 0, "", v.can.laidOut(v.syn, clientClock, 0))
	if v.begins != nil {
		p = p.Change(v.begins)
	}
	before := v.counters()["answered_cookie"]
	r := v.put(p)
	if r.action != dataplane.Redirect || v.counters()["answered_cookie"] != before+1 { // and, to one inside, forwarded
		v.t.Fatalf("%v, %s", r.action, r.reason)
	}
	a, value, echo := read(r.packet)
	want := ability{mss: promise.MSS, scale: -1, sack: v.can.sack && promise.SACK, timestamps: v.can.timestamps && promise.Timestamps}
	if v.can.scale >= 0 {
		want.scale = datapath.WebScale
	}
	same(v.gateway, "what is promised", a, want)
	same(v.gateway, "acknowledged", r.packet.TCP.Acknowledge, uint32(v.isn+1))
	same(v.gateway, "flags", r.packet.TCP.Flags, synAck)
	same(v.gateway, "octets behind the answer", len(r.packet.Payload), 0)
	if a.timestamps {
		same(v.gateway, "echo", echo, clientClock)
	}
	same(v.gateway, "to", r.packet.Tuple().Destination, v.client)
	same(v.gateway, "from", r.packet.Tuple().Source, v.to)
	v.can.timestamps, v.can.sack = want.timestamps, want.sack
	v.cookie, v.clock = r.packet.TCP.Sequence, value
}

// first is the client's first data.
func (v *visit) first(data string) packets.Packet {
	var o []byte
	if v.can.timestamps {
		o = stamps(clientClock+5, v.clock)
	}
	return v.from(packets.ACK|packets.PSH, v.isn+1, v.cookie+1, data, o)
}

func (v *visit) flow() model.Tuple {
	return model.Tuple{Protocol: model.TCP, Source: v.client, Destination: v.to}
}

// connects has the daemon say where the name leads, and wants the client's SYN there.
func (v *visit) connects(data string) {
	v.t.Helper()
	same(v.gateway, "reason", v.put(v.first(data)).reason, "held_for_name")
	e := v.tells(datapath.WebFirst)[0]
	same(v.gateway, "flow", e.Flow, v.flow())
	if got, want := string(e.Frame), string(addressed(v.first(data)).Bytes()); got != want {
		v.t.Fatalf("the daemon sees %x, want %x", got, want)
	}
	check(v.t, v.data.AnswerWeb(v.flow(), datapath.WebAnswer{Begun: v.isn, Host: v.at, Name: 0xabcdef}))
	for range 2 { // the host does not answer at once
		v.calls(v.first(data))
	}
	v.tells()
}

// calls wants a segment of the client's to become the SYN to its host.
func (v *visit) calls(segment packets.Packet) {
	v.t.Helper()
	p := v.forwarded(v.put(segment))
	a, value, echo := read(p)
	want := v.can
	want.mss = min(want.mss, 1460)
	same(v.gateway, "what the host is offered", a, want)
	if a.timestamps {
		same(v.gateway, "timestamps", [2]uint32{value, echo}, [2]uint32{clientClock + 5, 0})
	}
	same(v.gateway, "flags", p.TCP.Flags, packets.SYN)
	same(v.gateway, "numbers", [2]uint32{p.TCP.Sequence, p.TCP.Acknowledge}, [2]uint32{v.isn, 0})
	same(v.gateway, "from", p.Tuple().Source, v.client)
	same(v.gateway, "to", p.Tuple().Destination, v.at)
	v.correct(p)
}

// opens has the host answer, and the daemon hear of it, which has nothing to send before what comes.
func (v *visit) opens() {
	v.t.Helper()
	v.opensBehind()
	check(v.t, v.data.ForgetWeb(v.flow()))
}

// answered has the host answer.
func (v *visit) answered() {
	v.t.Helper()
	can := v.host
	can.sack, can.timestamps = can.sack && v.can.sack, can.timestamps && v.can.timestamps
	if v.can.scale < 0 {
		can.scale = -1
	}
	r := v.put(v.says(synAck, hostISN, v.isn+1, "", can.laidOut(v.synAck, hostClock, clientClock+5)))
	if r.action != dataplane.Redirect || r.reason != "answered_host" {
		v.t.Fatalf("%v, %s", r.action, r.reason)
	}
	same(v.gateway, "flags", r.packet.TCP.Flags, packets.ACK)
	same(v.gateway, "numbers", [2]uint32{r.packet.TCP.Sequence, r.packet.TCP.Acknowledge}, [2]uint32{v.isn + 1, uint32(hostISN + 1&0xffffffff)})
	same(v.gateway, "from", r.packet.Tuple().Source, v.client)
	same(v.gateway, "to", r.packet.Tuple().Destination, v.at)
	a, value, echo := read(r.packet)
	same(v.gateway, "timestamps of the ACK", a.timestamps, can.timestamps)
	if can.timestamps { // an echo would be a sample of the round trip that is not the client's
		same(v.gateway, "of the ACK", [2]uint32{value, echo}, [2]uint32{clientClock + 5, 0})
	}
	v.host = can
	v.difference = v.cookie - hostISN
}

// says is a segment of the host to its client.
func (v *visit) says(flags packets.Flags, sequence, acknowledge uint32, data string, options []byte) packets.Packet {
	return with(segment(v.at, v.client, flags, sequence, acknowledge), data).Change(func(p *packets.Packet) { p.TCP.Options = options })
}

// Ends that can less than all, on both sides: the handshake, then data, windows, timestamps and SACK of both.
func TestWebHandshake(t *testing.T) {
	t.Parallel()
	full := fullAbility
	clients := map[string]ability{
		"all": full, "no timestamps": {1460, 8, true, false}, "no scale": {1460, -1, true, true}, "no sack": {1460, 7, false, true},
		"nothing": {536, -1, false, false}, "scale 0": {1300, 0, true, true}, "scale 14": {1400, 14, true, true},
	}
	hosts := map[string]ability{
		"all": full, "no scale": {1460, -1, true, true}, "no sack": {1460, 7, false, true}, "scale 2": {1460, 2, true, true}, "scale 14": {1460, 14, true, true},
	}
	g := newGateway(t)
	g.serves(allPromised)
	port := uint16(50000)
	for cn, c := range clients {
		for hn, h := range hosts {
			port++
			v := g.visitor(endpoint(remote, port), c, h)
			t.Logf("client: %s, host: %s", cn, hn)
			v.knocks(allPromised)
			v.connects("GET / HTTP/1.1\r\n")
			v.opens()
			v.talks()
		}
	}
	for _, s := range g.sessions() {
		if s.Origin != "web" || s.Name != 0xabcdef || s.Tentative || s.State != "established" {
			t.Errorf("%+v", s)
		}
	}
	g.count(len(clients) * len(hosts))
	g.sound()
}
