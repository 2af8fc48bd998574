package object

import (
	"strings"
	"testing"

	"github.com/realmgate/realmgate/internal/nf"
	"github.com/realmgate/realmgate/internal/nf/nftest"
)

const sneaky = `
struct way { __u8 *at; void *end; };

static __noinline int deep(__u8 *at, void *end)
{
	if (at && (void *)(at + 1) <= end)
		*at = 1;
	return NF_CONTINUE;
}

static int each(__u32 i, struct way *way)
{
	if ((void *)(way->at + 1) <= way->end)
		*way->at = 1;
	return 0;
}

static __noinline int put(struct way *way, struct xdp_md *ctx)
{
	way->at = (void *)(long)ctx->data;
	way->end = (void *)(long)ctx->data_end;
	return 0;
}

static __noinline __u8 *first(struct xdp_md *ctx) { return (void *)(long)ctx->data; }
`

// Whichever way a function changes the packet, it has to say so; with that the kernel
// takes it, so that the ways are true ones.
func TestReadingFunctionsOnlyRead(t *testing.T) {
	t.Parallel()
	b := nftest.New(t)
	for name, body := range map[string]string{
		"a store":                "ip->tos = 1;",
		"at the line that it is": "ip->tos = 1; /* here */",
		"by an address from the stack": `
			volatile struct way way = {.at = (void *)ip, .end = end};

			if ((void *)(way.at + 1) <= way.end)
				*way.at = 1;`,
		"in a function":           "deep(data, end);",
		"by what a function said": "__u8 *at = first(ctx); if ((void *)(at + 1) <= end) *at = 1;",
		"by an address that a function put there": `
			struct way way = {};

			put(&way, ctx);
			if ((void *)(way.at + 1) <= way.end)
				*way.at = 1;`,
		"in a function of a helper": "struct way way = {data, end}; bpf_loop(1, each, &way, 0);",
		"on one of two ways": `
			__u64 spare = 0;
			__u8 *at = packet->length > 100 ? (__u8 *)ip : (__u8 *)&spare;

			asm volatile("" : "+r"(at));
			*at = 1;`,
		"by bpf_xdp_store_bytes": "__u8 tos = 1; bpf_xdp_store_bytes(ctx, 15, &tos, 1);",
	} {
		t.Run(name, func(t *testing.T) {
			b.T = t
			o := Object{Code: compiled(t, source(sneaky, packetOfUser+body+"\nreturn NF_CONTINUE;"))}
			if err := o.Check(); err == nil || !strings.Contains(err.Error(), "it changes the packet, which takes may: rewrite, at it.bpf.c:") {
				t.Errorf("declared to read: %v", err)
			} else if strings.Contains(body, "here") && !strings.Contains(err.Error(), ": ip->tos = 1; /* here */") {
				t.Errorf("it does not say where: %v", err)
			}
			o.Rewrites = true
			b.Put(nf.Chain{Name: "it", Rules: []nf.Rule{{}}, Steps: []nf.Step{{Number: 1, Function: o}}})
		})
	}
}

// What only looks like changing the packet needs no word.
func TestReadingIsRead(t *testing.T) {
	t.Parallel()
	b := nftest.New(t)
	for name, body := range map[string]string{
		"a copy":        "struct ethhdr copy; __builtin_memcpy(&copy, data, sizeof(copy)); copy.h_proto ^= ip->tos; all += copy.h_proto;",
		"a length":      "all += end - data;",
		"an index":      "__u64 n = end - data; asm volatile(\"\" : \"+r\"(n)); if (n < sizeof(row)) row[n]++;",
		"load_bytes":    "__u8 some[4]; bpf_xdp_load_bytes(ctx, 14, some, 4); all += some[2];",
		"a lookup":      "__u64 *count = bpf_map_lookup_elem(&seen, &ip->saddr); if (count) __sync_fetch_and_add(count, 1);",
		"an address":    "struct way way = {data, end}; asm volatile(\"\" : : \"r\"(&way) : \"memory\"); all += *(volatile __u64 *)&way.end > 0;",
		"a ring buffer": "struct iphdr copy = *ip; bpf_ringbuf_output(&ring, &copy, sizeof(copy), 0);",
	} {
		t.Run(name, func(t *testing.T) {
			b.T = t
			more := counter + `
				static __u8 row[64];
				struct way { __u8 *at; void *end; };
				struct { __uint(type, BPF_MAP_TYPE_RINGBUF); __uint(max_entries, 4096); } ring SEC(".maps");`
			o := Object{Code: compiled(t, source(more, packetOfUser+body+"\nreturn NF_CONTINUE;"))}
			b.Put(nf.Chain{Name: "it", Rules: []nf.Rule{{}}, Steps: []nf.Step{{Number: 1, Function: o}}})
		})
	}
}

// What no function may do, whatever it says.
func TestForbidden(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ before, body, want string }{
		"write to nf_packet": {"", "nf_packet()->verdict = 1; return NF_CONTINUE;", "it changes what the gateway says of the packet"},
		"the same by a helper": {"", "struct nf_packet none = {}; __u32 zero = 0; bpf_map_update_elem(&nf_packets, &zero, &none, 0); return NF_CONTINUE;",
			"it changes what the gateway says of the packet"},
		"redirect":    {"", "return bpf_redirect(1, 0);", "it calls bpf_redirect, which no function may"},
		"adjust_head": {"", "bpf_xdp_adjust_head(ctx, 8); return 0;", "it calls bpf_xdp_adjust_head, which no function may"},
		"tail call": {`struct { __uint(type, BPF_MAP_TYPE_PROG_ARRAY); __type(key, __u32); __type(value, __u32); __uint(max_entries, 1); } next SEC(".maps");`,
			"bpf_tail_call(ctx, &next, 0); return 0;", "its map next is of a type that functions may not have (ProgramArray)"},
		"a kfunc": {"extern int bpf_xdp_metadata_rx_hash(const struct xdp_md *ctx, __u32 *hash, __u32 *type) __ksym;",
			"__u32 hash, type; return bpf_xdp_metadata_rx_hash(ctx, &hash, &type);", "it calls bpf_xdp_metadata_rx_hash of the kernel"},
		"a function that is not there": {"extern int nowhere(void);", "return nowhere();", "it calls \"nowhere\", which is not in it"},
		"kernel configuration":         {"extern int CONFIG_HZ __kconfig;", "return CONFIG_HZ;", "it needs the kernel's configuration"},
	} {
		o := Object{Code: compiled(t, source(c.before, c.body)), Rewrites: true}
		if err := o.Check(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}
