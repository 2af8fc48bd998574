package firstbytes

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/nf"
	"github.com/realmgate/realmgate/internal/nf/nftest"
)

var (
	client = packets.At("203.0.113.7:40000")
	server = packets.At("10.0.0.100:80")
)

// tcp is a segment and udp a datagram from the opener, as functions see them.
const (
	tcp = "in tcp 203.0.113.7:40000 > 10.0.0.100:80"
	udp = "in udp 203.0.113.7:40000 > 10.0.0.100:80"
)

// segments are frames with that payload, by what they are: the headers end at other places.
func segments(payload string) map[string][]byte {
	plain := packets.NewTCP(client, server, packets.ACK, payload)
	longest := plain.Change(func(p *packets.Packet) {
		p.IPv4.Options, p.TCP.Options = []byte(strings.Repeat("\x01", 40)), []byte(strings.Repeat("\x01", 40))
	})
	padded := plain.Change(func(p *packets.Packet) { p.Trailer = []byte("SSH-GET ") })
	return map[string][]byte{"plain": plain.Bytes(), "longest headers": longest.Bytes(), "padded": padded.Bytes()}
}

// What the first bytes say is said as soon as they tell, of TCP and of UDP, wherever they lie; what is too short to tell fails. Then
// nobody waits for them any more. A dry packet is judged as one that was sent.
func TestJudgesByTheFirstBytes(t *testing.T) {
	t.Parallel()
	const passes, drops, fails = "passes", "drops", "fails"
	b := nftest.New(t)
	long := strings.Repeat("x", MostSignature)
	for section, says := range map[string]map[string]string{
		`{deny_bytes: ["SSH-", {hex: "16 03 ?? 01"}]}`: {
			"SSH-2.0-x\r\n": drops, "SSH-": drops, "SSH_2.0": passes, "x": passes, "GET SSH-": passes, "\x00": passes, "SSH": fails, "S": fails,
			"\x16\x03\x00\x01": drops, "\x16\x03\xff\x01 and more": drops, "\x16\x03\x00\x02": passes, "\x16\x03\x01": fails,
		},
		`{allow_bytes: ["GET ", "POST "], deny_bytes: ["GET /secret"]}`: {
			"GET / HTTP/1.1\r\n": passes, "POST /x": passes, "GET /secrets": drops, "GET /secure": passes, "HEAD /": drops, "\xff": drops,
			"GET /sec": fails, "PO": fails,
		},
		`{deny_bytes: [` + long + `]}`: {long: drops, long[1:]: fails, long[1:] + "y": passes, long + long: drops},
	} {
		program := b.Only(nftest.Function(t, Kind, section, nil))
		for payload, want := range says {
			frames := segments(payload)
			frames["datagram"] = packets.NewUDP(client, server, payload).Bytes()
			for name, frame := range frames {
				for dry := range uint8(2) {
					p := nftest.Packet(tcp)
					if name == "datagram" {
						p = nftest.Packet(udp)
					}
					p.Dry = dry
					before := b.Count(1)
					said := b.Frame(program, frame, p)
					after, got := b.Count(1), map[nftest.Said]string{{Verdict: nf.Accept}: passes, {Verdict: nf.Drop, Function: 1}: drops}[said]
					if after.Failed > before.Failed && got == drops {
						got = fails
					}
					if got != want || after.Seen != before.Seen+1 {
						t.Errorf("%s, %q, %s, dry %d: %q %+v, want %s; counted %+v, before %+v", section, payload, name, dry, got, said, want, after, before)
					}
				}
			}
		}
	}
}

// What has no payload, is the other end's, an error about the flow or of another protocol is not judged: it passes, and the flow's first
// bytes are waited for.
func TestWaitsForTheFirstBytes(t *testing.T) {
	t.Parallel()
	b := nftest.New(t)
	program := b.Only(nftest.Function(t, Kind, `{allow_bytes: ["GET "]}`, nil))
	answer, failure := nftest.Packet(tcp), nftest.Packet(tcp)
	answer.Answers, failure.Error = 1, 1
	head := packets.NewTCP(client, server, packets.ACK, "HEAD")
	for name, c := range map[string]struct {
		packet nf.Packet
		frame  packets.Packet
	}{
		"a SYN":           {nftest.Packet(tcp), packets.NewTCP(client, server, packets.SYN, "")},
		"a padded SYN":    {nftest.Packet(tcp), packets.NewTCP(client, server, packets.SYN, "").Change(func(p *packets.Packet) { p.Trailer = []byte("HEAD") })},
		"an empty packet": {nftest.Packet(udp), packets.NewUDP(client, server, "")},
		"an answer":       {answer, packets.NewTCP(server, client, packets.ACK, "HEAD")},
		"an error":        {failure, packets.NewICMPError(netip.MustParseAddr("203.0.113.1"), server.Addr(), packets.TimeExceeded, 0, 0, head, 28)},
		"a ping":          {nftest.Packet("in icmp 203.0.113.7:7 > 10.0.0.100:7"), packets.NewEcho(client.Addr(), server.Addr(), 7, 1)},
	} {
		if said := b.Frame(program, c.frame.Bytes(), c.packet); said.Verdict != nf.Accept || said.Packets == 0 {
			t.Errorf("%s: %+v, want it accepted, and somebody to see what follows", name, said)
		}
	}
	if n := b.Count(1).Failed; n != 0 {
		t.Errorf("%d failures", n)
	}
}

// The packets that follow meet the same function until one has first bytes, and are not judged any more when these have passed.
func TestJudgesAFlowOnce(t *testing.T) {
	t.Parallel()
	const done = uint8(nftest.PayloadDone)
	b := nftest.New(t)
	b.Only(nftest.Function(t, Kind, `{allow_bytes: ["GET "]}`, nil))
	follows := b.Made.XDP.Chains[0]
	p := nftest.Packet(tcp)
	p.Opens = 0
	say := func(payload string) nftest.Said {
		return b.Frame(follows, packets.NewTCP(client, server, packets.ACK, payload).Bytes(), p)
	}
	if said := say(""); said != (nftest.Said{Verdict: nf.Accept}) {
		t.Errorf("nothing: %+v, want the same to see what follows", said)
	}
	if said := say("HEAD"); said.Verdict != nf.Drop {
		t.Errorf("what is not allowed: %+v", said)
	}
	if said := say("GET "); said.Verdict != nf.Accept || said.Packets == 0 {
		t.Errorf("what is allowed: %+v, want it accepted, and others to see what follows", said)
	}
	p.Payload = done
	if said := say("HEAD"); said.Verdict != nf.Accept {
		t.Errorf("what comes later: %+v", said)
	}
}

// Nobody can tell by a fragment what the flow begins with: another may be put over it.
func TestFragmentsCannotBeJudged(t *testing.T) {
	t.Parallel()
	b := nftest.New(t)
	program := b.Only(nftest.Function(t, Kind, `{allow_bytes: ["GET "]}`, nil))
	frame := packets.NewUDP(client, server, "GET ").Bytes()
	for _, fragment := range []nftest.Fragment{nftest.FragmentFirstFragment, nftest.FragmentLaterFragment} {
		p := nftest.Packet(udp)
		p.Fragment = uint8(fragment)
		if said := b.Frame(program, frame, p); said != (nftest.Said{Verdict: nf.Drop, Function: 1}) {
			t.Errorf("fragment %d: %+v", fragment, said)
		}
	}
	if n := b.Count(1).Failed; n != 2 {
		t.Errorf("%d failures, want 2", n)
	}
}
