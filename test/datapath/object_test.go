package datapath

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/nf"
	"github.com/realmgate/realmgate/internal/nf/nftest"
	"github.com/realmgate/realmgate/internal/nf/object"
)

// rewriting is a user's function that does something to every packet.
func rewriting(t *testing.T, does string) object.Object {
	t.Helper()
	return object.Object{Rewrites: true, EveryPacket: true, Code: nftest.Compile(t, `
		#include <nf.h>
		#include <linux/if_ether.h>
		#include <linux/ip.h>
		#include <linux/udp.h>
		#include <bpf/bpf_endian.h>

		SEC("xdp") int it(struct xdp_md *ctx)
		{
			void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
			struct iphdr *ip = data + sizeof(struct ethhdr);
			struct udphdr *udp = (void *)(ip + 1);

			if ((void *)(udp + 1) > end)
				return NF_FAIL;
			`+does+`
			return NF_CONTINUE;
		}
		char _license[] SEC("license") = "Dual BSD/GPL";`)}
}

func (g *gateway) rewritten(does string) {
	g.t.Helper()
	g.chained([]nf.Rule{{Protocol: model.UDP}}, []nf.Step{{Number: 1, Function: rewriting(g.t.(*testing.T), does)}})
}

// What a user's function writes into packets leaves with them, translated.
func TestRewrittenPacketsLeave(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	g.rewritten(`
			__u32 sum;

			ip->tos = 8;
			ip->check = 0;
			sum = bpf_csum_diff(0, 0, (void *)ip, sizeof(*ip), 0);
			sum = (sum & 0xffff) + (sum >> 16);
			ip->check = ~((sum & 0xffff) + (sum >> 16));`)
	marked := func(p packets.Packet) packets.Packet {
		return p.Change(func(p *packets.Packet) { p.IPv4.TOS = 8 })
	}
	for range 2 {
		out := endpoint(outbound, inA.Port())
		g.leaves(g.put(udp(inA, server)), marked(udp(out, server)))
		g.leaves(g.put(udp(server, out)), marked(udp(server, inA)))
	}
}

// A packet that a function has changed which says that it only reads goes nowhere, the first of its flow and each later
// one, whatever its place says of one that cannot say; what it leaves as it is passes.
func TestReaderThatWritesIsRefused(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	reads := rewriting(t, "if (udp->dest == bpf_htons(53)) ip->tos = 8;")
	reads.Rewrites = false
	g.mapped(udp(inA, server))
	g.chained([]nf.Rule{{Protocol: model.UDP}}, []nf.Step{{Number: 1, Function: reads, FailOpen: true}})
	for range 2 {
		g.dropped(g.put(udp(inA, server)), "drop_malformed")
		g.mapped(udp(inB, endpoint(remote, 54)))
	}
	g.dropped(g.put(udp(inB, server)), "drop_malformed")
	if n := g.did(1); n.Failed != 3 || n.Dropped != 3 || n.Seen != 5 {
		t.Errorf("%+v", n)
	}
}

// A packet that is of another flow when its function is done with it goes nowhere, be
// it the first of its flow or a later one.
func TestRewrittenFlowIsRefused(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	g.rewritten("if (udp->dest == bpf_htons(53)) { udp->dest = bpf_htons(54); udp->check = 0; }")
	g.dropped(g.put(udp(inA, server)), "drop_malformed")
	g.chained(nil)
	g.mapped(udp(inA, server))
	g.rewritten("if (ip->saddr == bpf_htonl(0x0a000064)) { ip->saddr = bpf_htonl(0x0a000065); ip->check -= bpf_htons(1); udp->check = 0; }")
	g.dropped(g.put(udp(inA, server)), "drop_malformed")
	g.count(1)
}

// An ICMP error that is about another flow when its function is done with it reaches
// nobody, though that flow is open, too.
func TestRewrittenErrorIsRefused(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	outA, outB := g.mapped(udp(inA, server)), g.mapped(udp(inB, server))
	failed := func(out netip.AddrPort) packets.Packet { return unreachable(server.Addr(), 3, 0, udp(out, server), 8) }
	g.rewritten(fmt.Sprintf(`
			if (ip->protocol == 1) { /* ICMP */
				__u16 *check = (void *)(ip + 1) + 2, *port = (void *)(ip + 1) + 8 + 20;
				__u32 sum;

				if ((void *)(port + 1) > end)
					return NF_FAIL;
				if (*port == bpf_htons(%d)) {
					sum = (__u16)~*check + (__u16)~*port + bpf_htons(%d);
					sum = (sum & 0xffff) + (sum >> 16);
					*check = ~((sum & 0xffff) + (sum >> 16));
					*port = bpf_htons(%d);
				}
			}`, outA.Port(), outB.Port(), outB.Port()))
	g.forwarded(g.put(udp(server, outA)))
	g.forwarded(g.put(failed(outB)))
	g.dropped(g.put(failed(outA)), "drop_busy")
}

// Of an ICMP error, too, its checksum and its MTU are judged as its function leaves them.
func TestRewrittenErrorIsJudgedAnew(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	out := g.mapped(udp(inA, server))
	sum := `
				sum = (__u16)~*check + (__u16)~*mtu + bpf_htons(68);
				sum = (sum & 0xffff) + (sum >> 16);
				*check = ~((sum & 0xffff) + (sum >> 16));`
	mtu := func(corrects string) {
		g.rewritten(`
			if (ip->protocol == 1) { /* ICMP */
				__u16 *check = (void *)(ip + 1) + 2, *mtu = (void *)(ip + 1) + 6;
				__u32 sum __attribute__((unused)) = 0;

				if ((void *)(mtu + 1) > end)
					return NF_FAIL;` + corrects + `
				*mtu = bpf_htons(68);
			}`)
	}
	failed := tooBig(server.Addr(), out.Addr(), 1400, udp(out, server))
	g.forwarded(g.put(failed))
	mtu(sum)
	g.forwarded(g.put(udp(server, out)))
	g.dropped(g.put(failed), "drop_small_mtu")
	mtu("")
	g.forwarded(g.put(udp(server, out)))
	g.dropped(g.put(failed), "drop_bad_checksum")
}

// A packet that its function leaves without a hop to go opens nothing.
func TestRewrittenPacketOpensNothing(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	out := g.mapped(udp(inA, server))
	g.rewritten(`
			if (udp->source == bpf_htons(9)) {
				__u32 sum;

				ip->ttl = 1;
				ip->check = 0;
				sum = bpf_csum_diff(0, 0, (void *)ip, sizeof(*ip), 0);
				sum = (sum & 0xffff) + (sum >> 16);
				ip->check = ~((sum & 0xffff) + (sum >> 16));
			}`)
	before := len(g.sessions())
	g.dropped(g.put(udp(endpoint(server.Addr(), 9), out)), "drop_ttl_expired")
	if n := len(g.sessions()); n != before {
		t.Errorf("%d sessions, before %d", n, before)
	}
	g.forwarded(g.put(udp(endpoint(server.Addr(), 10), out)))
}

// Where every chain is as long as can be, what a host sends to a neighbour's public
// address goes through all of both, as a first packet and when it is judged anew.
func TestLongestRowThroughAHairpin(t *testing.T) {
	t.Parallel()
	const most = 8 // programs in a row
	g := newGateway(t)
	own := rewriting(t, "")
	own.Rewrites, own.EveryPacket = false, false
	number := uint32(10)
	row := func(length int) (steps []nf.Step) {
		for range length {
			steps = append(steps, nf.Step{Name: fmt.Sprint(number), Number: number, Function: own})
			number++
		}
		return steps
	}
	in := tcpTo(shop, shopIn).chain(1)
	in.Steps = append(row(most-1), in.Steps...)
	out := nf.Chain{Name: "out", Rules: []nf.Rule{{Direction: model.Out, Protocol: model.TCP}}, Steps: row(most)}
	from := endpoint(hostB, 9000)
	for round := range uint64(2) {
		g.forwards(nil, in, out)
		g.leaves(g.put(tcp(from, shop, packets.SYN)), tcp(endpoint(outbound, 9000), shopIn, packets.SYN))
		for n := uint32(10); n < number; n++ {
			same(g, fmt.Sprintf("packets that function %d saw", n), g.seen(n), round+1)
		}
	}
	g.sound()
}
