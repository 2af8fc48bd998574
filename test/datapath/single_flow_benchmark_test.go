package datapath

import (
	"testing"

	"github.com/cilium/ebpf"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/nf"
)

// BenchmarkSingle measures a packet that comes in to a single machine at XDP: without chains, and of an open flow that they let in.
func BenchmarkSingle(b *testing.B) {
	segment := outside(tcp(endpoint(router, 50000), machine22, packets.ACK)).Bytes()
	run := func(b *testing.B, g *gateway) {
		b.Helper()
		program := must(g.data.Entry(datapath.XDP, true, false))(b)
		out := make([]byte, len(segment)+256)
		g.in(func() error {
			b.ResetTimer()
			_, err := program.Run(&ebpf.RunOptions{
				Data: segment, DataOut: out, Repeat: uint32(b.N), //nolint:gosec // fewer than that
				Context: datapath.XDPMd{DataEnd: uint32(len(segment)), IngressIfindex: uint32(g.public)}, //nolint:gosec // it is small
			})
			return err
		})
	}
	b.Run("without chains", func(b *testing.B) { run(b, newGateway(b, single, strangers, wanted(datapath.XDP))) })
	b.Run("with chains", func(b *testing.B) {
		g := newGateway(b, singleFlows, wanted(datapath.XDP))
		g.chained([]nf.Rule{{Direction: model.In}}, deny(1, nf.Rule{Protocol: model.TCP, Ports: model.Ports{First: 23, Last: 23}}))
		g.send(true, outside(tcp(endpoint(router, 50000), machine22, packets.SYN)).Bytes())
		same(g, "sessions", len(g.sessions()), 1)
		run(b, g)
		same(g, "sessions", len(g.sessions()), 1)
	})
}
