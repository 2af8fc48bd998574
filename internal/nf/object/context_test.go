package object

import (
	"strings"
	"testing"

	"github.com/cilium/ebpf"

	"github.com/realmgate/realmgate/internal/nf"
	"github.com/realmgate/realmgate/internal/nf/nftest"
)

// kept is the context in memory, for functions that get no other argument.
const kept = `
struct kept { struct iphdr *ip; void *end; struct xdp_md *ctx; __u32 all; };

static int bytes(__u32 i, struct kept *kept)
{
	__u8 some[4] = {};

	if (!bpf_xdp_load_bytes(kept->ctx, 14 + 4 * i, some, sizeof(some)))
		kept->all += some[0] + bpf_xdp_get_buff_len(kept->ctx);
	return 0;
}

static int stores(__u32 i, struct kept *kept)
{
	__u8 tos = 8;

	bpf_xdp_store_bytes(kept->ctx, 15, &tos, 1);
	return 0;
}

static int comes(__u32 i, struct kept *kept)
{
	kept->all += kept->ctx->ingress_ifindex;
	return 0;
}

static __noinline int queue(struct kept *kept) { return kept->ctx->rx_queue_index; }
static __noinline int length(struct kept *kept)
{
	if ((void *)(kept->ip + 1) > kept->end)
		return 0;
	return bpf_ntohs(kept->ip->tot_len) + kept->ip->saddr + bpf_xdp_get_buff_len(kept->ctx);
}
static __noinline struct xdp_md *same(struct xdp_md *ctx)
{
	asm volatile("" : "+r"(ctx));
	return ctx;
}
static __noinline int put(struct kept *kept, struct xdp_md *ctx) { kept->ctx = ctx; return 0; }
static __noinline int of(struct xdp_md *ctx) { return ctx->rx_queue_index; }
`

// What helpers and functions have of the context is the same for socket buffers, wherever they have it from.
func TestKeptContextAtTCX(t *testing.T) {
	t.Parallel()
	b := nftest.New(t)
	chains, err := ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.ProgramArray, KeySize: 4, ValueSize: 4, MaxEntries: b.Shared.Chains.MaxEntries()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = chains.Close() })
	b.Shared.TCXChains = chains
	for name, body := range map[string]string{
		"helpers in a callback": "bpf_loop(2, bytes, &kept, 0); return kept.all == 0x45 + 2 * 64 ? NF_DROP : NF_CONTINUE;",
		"a helper that stores":  "bpf_loop(1, stores, &kept, 0); return NF_DROP;",
		"what stands beside it": "return length(&kept) == 64 ? NF_DROP : NF_CONTINUE;",
		"a store":               "__u8 tos = 8; bpf_xdp_store_bytes(ctx, 15, &tos, 1); return NF_DROP;",
		"an argument":           "return of(ctx) == 0 ? NF_DROP : NF_CONTINUE;",
		"where there is no register left": `
			__u32 sum = 0;

			bpf_loop(2, sums, &sum, 0);
			asm volatile("" : : : "r0", "r1", "r2", "r3", "r4", "r5", "r6", "r7", "r8", "r9", "memory");
			return ctx->rx_queue_index + sum == 1 ? NF_DROP : NF_CONTINUE;`,
	} {
		t.Run(name, func(t *testing.T) {
			b.T = t
			more := "#include <bpf/bpf_endian.h>\n" + kept + "static int sums(__u32 i, __u32 *sum) { *sum += i; return 0; }\n"
			o := Object{Rewrites: true, Code: nftest.Compile(t, source(more, packetOfUser+"struct kept kept = {ip, end, ctx};\n"+body))}
			b.Only(o)
			frame := make([]byte, 64)
			frame[14] = 0x45
			for hook, made := range map[string]nf.Set{"XDP": b.Made.XDP, "tcx": b.Made.TCX} {
				if got := b.Frame(made.Chains[len(made.Chains)-1], frame, packetOf(50)).Verdict; got != nf.Drop {
					t.Errorf("at %s: %v", hook, got)
				}
			}
		})
	}
}

// Fields of a context that is in memory would be others of a socket buffer's: that is refused, with the line.
func TestLostContextIsRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ body, want string }{
		"a field in a callback":        {"bpf_loop(1, comes, &kept, 0); return kept.all;", "it reads its context from memory, where it is not followed: read the field before at it.bpf.c:"},
		"a field in a function":        {"return queue(&kept);", "it reads its context from memory"},
		"what a function hands back":   {"return same(ctx)->rx_queue_index;", "it puts its context where that cannot be followed at it.bpf.c:"},
		"what a function puts for one": {"put(&kept, ctx); return kept.ctx->rx_queue_index;", "it puts its context where that cannot be followed"},
	} {
		o := Object{Code: nftest.Compile(t, source("#include <bpf/bpf_endian.h>\n"+kept, "struct kept kept = {0, 0, ctx};\n"+c.body))}
		if err := o.Check(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}
