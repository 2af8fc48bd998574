package datapath

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/lab/packets"
)

// talks wants segments of both ends translated.
func (v *visit) talks() {
	v.t.Helper()
	const window = 600
	out, in := 0, 0 // shifts of windows
	if v.can.scale >= 0 {
		out = max(v.host.scale, 0) - datapath.WebScale
		if v.host.scale < 0 {
			in = v.can.scale
		}
	}
	blocks := func(n int, from uint32) []byte {
		b := []byte{5, byte(2 + 8*n)}
		for i := range uint32(2 * n) {
			b = binary.BigEndian.AppendUint32(b, from+1000*i)
		}
		return b
	}
	stamped := func(echo uint32) []byte { return stamps(clientClock+6, echo)[2:] }
	nop := []byte{1}
	layouts := map[string]func(number, echo uint32) []byte{
		"timestamps": func(_, echo uint32) []byte { return slices.Concat(nop, nop, stamped(echo)) },
		"timestamps, and selected": func(number, echo uint32) []byte {
			return slices.Concat(nop, nop, stamped(echo), nop, nop, blocks(3, number))
		},
		"timestamps at the end": func(_, echo uint32) []byte { return slices.Concat(stamped(echo), nop, nop) },
		"at odd places":         func(number, echo uint32) []byte { return slices.Concat(nop, stamped(echo), blocks(2, number), nop) },
		"selected before all":   func(number, echo uint32) []byte { return slices.Concat(nop, blocks(2, number), stamped(echo), nop) },
		"twice": func(number, echo uint32) []byte {
			return slices.Concat(stamped(echo), nop, stamped(echo), blocks(1, number))
		},
		"what nobody knows between": func(number, echo uint32) []byte {
			return slices.Concat(nop, []byte{254, 5, 8, 10, 5}, stamped(echo), nop, nop, blocks(2, number))
		},
	}
	if !v.can.timestamps {
		layouts = map[string]func(number, echo uint32) []byte{
			"none":     func(uint32, uint32) []byte { return nil },
			"selected": func(number, _ uint32) []byte { return slices.Concat(nop, nop, blocks(4, number)) },
		}
	}
	// Of the client: its acknowledgement, what it echoes, and what it has selected.
	for name, layout := range layouts {
		if v.can.timestamps { // its host has never said what it echoes before it has heard it
			ours := v.forwarded(v.put(v.from(packets.ACK, v.isn+20, v.cookie+100, "more", layout(v.cookie+5000, v.clock))))
			_, value, echo := read(ours)
			same(v.gateway, "with our timestamp, the client's and what it echoes", [2]uint32{value, echo}, [2]uint32{clientClock + 6, 0})
			v.correct(ours)
		}
		echoed := v.clock + afterAnswer
		p := v.from(packets.ACK, v.isn+20, v.cookie+100, "more", layout(v.cookie+5000, echoed)).Change(func(p *packets.Packet) { p.TCP.Window = window })
		got := v.forwarded(v.put(p))
		same(v.gateway, "the client's numbers", [2]uint32{got.TCP.Sequence, got.TCP.Acknowledge}, [2]uint32{v.isn + 20, v.cookie + 100 - v.difference})
		same(v.gateway, "the client's window", got.TCP.Window, scaled(window, in))
		if v.can.timestamps {
			_, value, echo := read(got)
			same(v.gateway, "the client's timestamp", value, clientClock+6)
			v.ticks = echoed - echo
		}
		same(v.gateway, name, fmt.Sprintf("% x", got.TCP.Options), fmt.Sprintf("% x", padded(layout(v.cookie+5000-v.difference, echoed-v.ticks))))
		v.correct(got)
	}
	// Of the host: its number and its timestamp.
	at := uint32(hostISN)
	at += 100
	for range 2 {
		var o []byte
		if v.can.timestamps {
			o = stamps(hostClock+clientClock, clientClock+6)
		}
		p := v.says(packets.ACK, at, v.isn+24, "<html>", o).Change(func(p *packets.Packet) { p.TCP.Window = window })
		got := v.forwarded(v.put(p))
		same(v.gateway, "the host's numbers", [2]uint32{got.TCP.Sequence, got.TCP.Acknowledge}, [2]uint32{at + v.difference, v.isn + 24})
		same(v.gateway, "the host's window", got.TCP.Window, scaled(window, out))
		if v.can.timestamps {
			_, value, echo := read(got)
			same(v.gateway, "the host's timestamps", [2]uint32{value, echo}, [2]uint32{hostClock + clientClock + v.ticks, clientClock + 6})
			if int32(value-v.clock) < 0 {
				v.t.Fatalf("the clock goes back, from %d to %d", v.clock, value)
			}
		}
		same(v.gateway, "from", got.Tuple().Source, v.to)
		v.correct(got)
	}
}

// afterAnswer is when a host has said something, of our clock behind its client's SYN.
const afterAnswer = 1000

func padded(o []byte) []byte { return append(slices.Clip(o), make([]byte, -len(o)&3)...) }

// correct wants the checksums to be right.
func (g *gateway) correct(p packets.Packet) {
	g.t.Helper()
	fresh := p
	fresh.TCP, fresh.IPv4 = ptr(*p.TCP), ptr(*p.IPv4)
	fresh.TCP.Checksum, fresh.TCP.ChecksumValue, fresh.IPv4.Checksum, fresh.IPv4.ChecksumValue = 0, 0, 0, 0
	if got, want := p.Bytes(), fresh.Bytes(); !slices.Equal(got, want) {
		g.t.Fatalf("checksums are wrong:\n% x\n% x", got, want)
	}
}

func ptr[T any](v T) *T { return &v }
