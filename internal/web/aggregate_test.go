package web

import (
	"slices"
	"testing"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/lab/packets"
)

// The segments of an aggregate are what its sender would have sent one by one: also where its checksum is left to an
// interface.
func TestParseSegments(t *testing.T) {
	t.Parallel()
	const data = "GET / HTTP/1.1\r\nHost: www.example\r\n\r\n"
	const each = 15 // odd
	stamped := func(p *packets.Packet) {
		p.TCP.Options = []byte{1, 1, 8, 10, 0, 0, 0, 9, 0, 0, 0, 8}
		p.IPv4.ID, p.TCP.Flags = 0xffff, packets.ACK|packets.PSH|packets.FIN
	}
	var want [][]byte
	for at := 0; at < len(data); at += each {
		end := min(at+each, len(data))
		want = append(want, frame(flowOf(visitor), uint32(at), data[at:end], stamped, func(p *packets.Packet) {
			if end < len(data) {
				p.TCP.Flags = packets.ACK
			}
			p.IPv4.ID += uint16(at / each)
		}))
	}
	for name, change := range map[string]func(*packets.Packet){
		"whole": func(*packets.Packet) {}, "partial": func(p *packets.Packet) { p.TCP.Checksum = packets.ChecksumPartial },
	} {
		list, err := parseSegments(frame(flowOf(visitor), 0, data, stamped, change), each)
		if err != nil || len(list) != len(want) {
			t.Fatalf("%s: %d segments, want %d: %v", name, len(list), len(want), err)
		}
		for i, s := range list {
			if !slices.Equal(s.Frame, want[i]) {
				t.Errorf("%s: segment %d is\n% x, want\n% x", name, i, s.Frame, want[i])
			}
		}
	}
}

// What came as an aggregate is sent again segment by segment: links behind the gateway take no more at a time.
func TestAggregateIsDivided(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	request := "GET / HTTP/1.1\r\nHost: www.example\r\n\r\n"
	flow := flowOf(visitor)
	b.hears(datapath.WebEvent{Kind: datapath.WebFirst, Flow: flow, Frame: frame(flow, 0, request), Each: 30},
		"answer 10.0.0.100:8080", `replay "GET / HTTP/1.1\r\nHost: www.exam" x2`)
	b.hears(datapath.WebEvent{Kind: datapath.WebOpened, Flow: flow, Begun: begun},
		`replay "GET / HTTP/1.1\r\nHost: www.exam" x1`, `replay "ple\r\n\r\n" x1`)
}
