package nf

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"net/netip"
	"testing"

	"github.com/cilium/ebpf"

	"github.com/realmgate/realmgate/internal/model"
)

// Probe is the first packet of a flow, which nobody sent.
type Probe struct {
	Flow
	PublicPort uint16 // that it comes to: of a name's service Port may be another
	Length     int    // of the IP packet
	Ignored    bool   // as if its port was
}

func (p Probe) describe() Packet {
	address := func(a netip.Addr) uint32 {
		b := a.As4()
		return binary.NativeEndian.Uint32(b[:])
	}
	ports := uint8(0)
	if p.Ignored {
		ports = uint8(protectionPortMarkPORT_IGNORED)
	}
	return Packet{
		Source: address(p.Source), Destination: address(p.Destination),
		SourcePort: bits.ReverseBytes16(p.SourcePort), DestinationPort: bits.ReverseBytes16(p.Port), PublicPort: bits.ReverseBytes16(p.PublicPort),
		Protocol: uint8(p.Protocol), Direction: uint8(p.Direction), Opens: 1, Dry: 1, Length: uint16(p.Length), Segments: 1, Ports: ports,
	}
}

// sent is the packet as if somebody had sent it.
func (p Probe) sent() Packet {
	described := p.describe()
	described.Dry = 0
	return described
}

// probe is the first packet of a flow from outside.
func probe(protocol model.Protocol, source string) Probe {
	return Probe{
		Flow: Flow{
			Direction: model.In, Source: netip.MustParseAddr(source), Destination: netip.MustParseAddr("10.0.0.1"), Protocol: protocol, Port: 80, SourcePort: 40000,
		},
		PublicPort: 80, Length: 100,
	}
}

// newTraced is a bed whose programs write down what functions say.
func newTraced(t *testing.T) *bed {
	t.Helper()
	b := newBed(t)
	trace, err := ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: uint32(binary.Size(classifierTrace{})), MaxEntries: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = trace.Close() })
	b.Shared.Trace = trace
	return b
}

// dry asks a classifier about a packet that nobody sent, and writes in a line what it
// wrote down: the chains, and the functions by their numbers with what they said.
func (b *bed) dry(classifier *ebpf.Program, p Probe) string {
	b.t.Helper()
	if err := b.Shared.Trace.Put(uint32(0), &classifierTrace{}); err != nil {
		b.t.Fatal(err)
	}
	got := b.ask(classifier, p.describe())
	var trace classifierTrace
	if err := b.Shared.Trace.Lookup(uint32(0), &trace); err != nil {
		b.t.Fatal(err)
	}
	line := ""
	for _, s := range trace.Step[:trace.Count] {
		if classifierTraceKind(s.Kind) == classifierTraceKindTRACE_CHAIN {
			line += b.Policy.Chains[s.Number-1].Name + ": "
			continue
		}
		word := map[Verdict]string{goOn: "continue", accept: "accept", drop: "drop", fail: "fail"}[Verdict(s.Says)]
		if word == "" {
			word = fmt.Sprint("jump ", Verdict(s.Says)-jump)
		}
		line += fmt.Sprint(s.Number, " ", word, ", ")
	}
	if got.verdict == accept {
		return line + "passes"
	}
	return line + "drops"
}
