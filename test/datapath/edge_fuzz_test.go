package datapath

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/datapath"
	tunnel "github.com/realmgate/realmgate/internal/edge/wire"
	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/test/dataplane"
	"github.com/realmgate/realmgate/test/frames"
)

// tunnelStorm is packets between edges, whole and damaged, in both directions.
type tunnelStorm struct {
	*gateway
	r       *rand.Rand
	pacts   []datapath.Pact
	step    int
	reached map[string]int
}

// TestTunnelFuzz puts packets of the tunnel and packets to proxy addresses, whole and damaged anywhere, into both forms of the
// data plane. What the header in Go is not taken for reaches nobody; what does is of its pact's host alone; what goes into the
// tunnel can be read there, and has no address of the inside.
func TestTunnelFuzz(t *testing.T) {
	t.Parallel()
	g, a, b := newEdge(t, capacity(1<<15))
	seed := time.Now().UnixNano()
	s := &tunnelStorm{gateway: g, r: rand.New(rand.NewPCG(uint64(seed), 1)), pacts: []datapath.Pact{a, b}, reached: map[string]int{}}
	began := time.Now()
	g.in(func() error {
		for s.step < *pathFrames {
			if s.step%audited == audited-1 {
				check(t, dataplane.Age(g.data, 400*time.Second))
				must(g.data.Sweep(nil))(t)
			}
			if problem := s.once(); problem != "" {
				return fmt.Errorf("seed %d, frame %d: %s", seed, s.step, problem)
			}
		}
		return nil
	})
	t.Logf("%d frames in %s: %v", s.step, time.Since(began).Round(time.Second), s.reached)
	for _, what := range []string{"in: forwarded", "in: dropped", "out: forwarded", "out: dropped"} {
		if s.reached[what] < *pathFrames/100 {
			t.Errorf("%s: %d of %d", what, s.reached[what], s.step)
		}
	}
	check(t, auditError(dataplane.Audit(g.data)))
}

// once puts one packet in and says what is wrong with what came out.
func (s *tunnelStorm) once() string {
	s.step++
	mode := choose(s.r, datapath.XDP, datapath.TCX)
	pact := s.pacts[s.r.IntN(len(s.pacts))]
	inward := s.r.IntN(2) == 0
	p := s.packet(pact, inward)
	var frame []byte
	if inward {
		frame = s.damaged(inTunnel(tunnel.Encapsulate(theirs(), returned(p, pact).Network())))
	} else {
		frame = s.damaged(addressed(p).Bytes())
	}
	if !runsAt(mode, frame) {
		return ""
	}
	action, out, err := dataplane.Inject(s.data, dataplane.Injected{
		Frame: datapath.Frame{Public: inward, Ifindex: either(inward, s.public, s.private), Octets: frame}, Mode: mode,
	})
	if err != nil {
		return err.Error()
	}
	s.reached[either(inward, "in: ", "out: ")+either(action == dataplane.Redirect, "forwarded", "dropped")]++
	problem := ""
	if action != dataplane.Drop {
		problem = s.judge(frame, out, inward, action)
	}
	if problem != "" {
		return fmt.Sprintf("%s, %v, %s:\nin  % x\nout % x", mode, action, problem, frame, out)
	}
	return ""
}

// packet is one of a pact's host, or to it.
func (s *tunnelStorm) packet(pact datapath.Pact, inward bool) packets.Packet {
	host, proxy := endpoint(pact.Host, uint16(40000+s.r.IntN(20))), endpoint(pact.Proxy, choose(s.r, uint16(80), 53, 999))
	from, to := host, proxy
	if inward {
		host = endpoint(pact.Host, choose(s.r, host.Port(), 80, 53, 8080))
		from, to = proxy, host
	}
	var p packets.Packet
	switch s.r.IntN(6) {
	case 0:
		p = udp(from, to)
	case 1:
		p = packets.NewTCP(from, to, packets.Flags(choose(s.r, packets.SYN, packets.ACK, synAck, packets.RST, packets.FIN|packets.ACK)), "data"[:s.r.IntN(5)])
	case 2:
		p = choose(s.r, echo(from.Addr(), to.Addr(), 7), echoReply(from.Addr(), to.Addr(), 7))
	case 3:
		about := udp(to, from)
		about = either(inward, tagged(about, pact), about)
		p = packets.NewICMPError(from.Addr(), to.Addr(), packets.DestinationUnreachable, uint8(s.r.IntN(16)), uint32(s.r.IntN(2000)), about, choose(s.r, 8, -1))
	case 4:
		cut := divided(filled(udp(from, to), 1000), uint16(s.r.IntN(9)), 8*(1+s.r.IntN(100)))
		p = cut[s.r.IntN(len(cut))]
	default:
		p = withTCP(tcp(from, to, packets.SYN), mss(uint16(s.r.IntN(9000))), sack, nop, nop)
	}
	if s.r.IntN(16) == 0 {
		p = p.Change(func(p *packets.Packet) { p.IPv4.TTL = uint8(s.r.IntN(3)) })
	}
	return p.Change(func(p *packets.Packet) { p.IPv4.TOS = uint8(s.r.IntN(256)) })
}

// damaged is a frame as it was, or with octets changed, or cut, or longer.
func (s *tunnelStorm) damaged(frame []byte) []byte {
	if s.r.IntN(2) == 0 {
		return frame
	}
	return frames.Mutate(s.r, frame)
}

// judge says what is wrong with a packet that came out.
func (s *tunnelStorm) judge(in, out []byte, inward bool, action dataplane.Action) string {
	if action == dataplane.Pass && bytes.Equal(in, out) {
		return "" // the kernel's as it came: damage has made it something else
	}
	if h, inner, err := tunnel.Decapsulate(out[14:]); err == nil && h.Local == publicAddress && h.Remote == otherEdge {
		return s.judgeOut(h, inner)
	}
	got, err := packets.Parse(out)
	if err != nil || got.IPv4 == nil {
		return fmt.Sprint("unreadable: ", err)
	}
	if !inward {
		// An error to who sent it, or the packet of a host that damage has made one to somebody outside.
		if realm.Contains(got.IPv4.Destination) || !proxies.Contains(got.IPv4.Destination) && got.IPv4.Source == outbound {
			return ""
		}
		return "leaves untunnelled"
	}
	return s.judgeIn(in, got)
}

// judgeOut is of a packet in the tunnel.
func (s *tunnelStorm) judgeOut(h tunnel.Header, inner []byte) string {
	if h.VNI != edgeLink.There || h.Epoch != epochOut || h.Authenticator != tunnel.Authenticator(keyOut, edgeLink.There, inner) {
		return fmt.Sprintf("a header that the other edge refuses: %+v", h)
	}
	for _, pact := range s.pacts {
		if binary.BigEndian.Uint32(inner[12:]) == pact.Own && binary.BigEndian.Uint32(inner[16:]) == pact.Peer {
			return ""
		}
	}
	return "an inner packet of no pact"
}

// judgeIn is of a packet that went to a host.
func (s *tunnelStorm) judgeIn(in []byte, got packets.Packet) string {
	h, inner, err := tunnel.Decapsulate(in[14:])
	if err != nil {
		return fmt.Sprint("the header in Go is ", err)
	}
	if h.Local != otherEdge || h.VNI != edgeLink.Here || h.Epoch != epochIn || h.Authenticator != tunnel.Authenticator(keyIn, edgeLink.Here, inner) {
		return "it was not the other edge's"
	}
	own, peer := binary.BigEndian.Uint32(inner[16:]), binary.BigEndian.Uint32(inner[12:])
	for _, pact := range s.pacts {
		if own == pact.Own {
			if peer != pact.Peer || got.IPv4.Destination != pact.Host || got.IPv4.Source != pact.Proxy {
				return fmt.Sprintf("of pact %08x came %s", own, got)
			}
			return ""
		}
	}
	return "of no pact"
}
