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

// Whichever way a function changes the packet that says that it only reads, the packet is dropped and the function
// counted as failed; with access: rewrite it passes, so that the ways are true ones.
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
	} {
		t.Run(name, func(t *testing.T) {
			b.T = t
			o := Object{Code: nftest.Compile(t, source(sneaky, packetOfUser+body+"\nreturn NF_CONTINUE;"))}
			for _, rewrites := range []bool{false, true} {
				o.Rewrites = rewrites
				program, before := b.Only(o), b.Count(1)
				said, failed := b.Ask(program, packetOf(1500)), b.Count(1).Failed-before.Failed
				want, fails := nftest.Said{Verdict: nf.Drop, Function: 1}, uint64(1)
				if rewrites {
					want, fails = nftest.Said{Verdict: nf.Accept}, 0
				}
				if said != want || failed != fails {
					t.Errorf("may rewrite: %v: %+v and %d failures, want %+v and %d", rewrites, said, failed, want, fails)
				}
			}
		})
	}
}

// Every octet of the headers is compared, of long frames and of short ones, and none behind them.
func TestHeadersAreCompared(t *testing.T) {
	t.Parallel()
	b := nftest.New(t)
	const headers = 96
	o := Object{Code: nftest.Compile(t, source("", `
		void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
		const struct nf_packet *packet = nf_packet();
		__u8 *at;

		if (!packet)
			return NF_FAIL;
		at = data + (packet->length & 127);
		if ((void *)(at + 1) <= end)
			*at ^= 0x80;
		return NF_CONTINUE;`))}
	program := b.Only(o)
	for _, size := range []int{42, 43, 60, 64, 65, 74, 95, 96, 97, 128} {
		for at := range size {
			want := nf.Drop
			if at >= headers {
				want = nf.Accept
			}
			if got := b.Frame(program, make([]byte, size), packetOf(uint16(at))).Verdict; got != want {
				t.Errorf("octet %d of %d: %v, want %v", at, size, got, want)
			}
		}
	}
}

// What the gateway says of a packet nobody changes, whatever it may do with the packet.
func TestDescriptionIsCompared(t *testing.T) {
	t.Parallel()
	b := nftest.New(t)
	for name, body := range map[string]string{
		"what functions see":  "((struct nf_packet *)nf_packet())->direction = 2;",
		"what is behind that": "((__u32 *)nf_packet())[sizeof(struct nf_packet) / 4 + 1] = 7;",
	} {
		o := Object{Code: nftest.Compile(t, source("", "if (nf_packet()) { "+body+" }\nreturn NF_ACCEPT;")), Rewrites: true}
		p := packetOf(100)
		p.Direction = 1
		if got := b.Ask(b.Only(o), p); got.Verdict != nf.Drop || got.Function != 1 {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// What only looks like changing the packet needs no word.
func TestReadingIsRead(t *testing.T) {
	t.Parallel()
	b := nftest.New(t)
	for name, body := range map[string]string{
		"a copy":         "struct ethhdr copy; __builtin_memcpy(&copy, data, sizeof(copy)); copy.h_proto ^= ip->tos; all += copy.h_proto;",
		"a length":       "all += end - data;",
		"an index":       "__u64 n = end - data; asm volatile(\"\" : \"+r\"(n)); if (n < sizeof(row)) row[n]++;",
		"load_bytes":     "__u8 some[4]; bpf_xdp_load_bytes(ctx, 14, some, 4); all += some[2];",
		"a lookup":       "__u64 *count = bpf_map_lookup_elem(&seen, &ip->saddr); if (count) __sync_fetch_and_add(count, 1);",
		"an address":     "struct way way = {data, end}; asm volatile(\"\" : : \"r\"(&way) : \"memory\"); all += *(volatile __u64 *)&way.end > 0;",
		"of another CPU": "__u32 zero = 0; all += bpf_map_lookup_percpu_elem(&each, &zero, 1) != 0;",
		"a ring buffer":  "struct iphdr copy = *ip; bpf_ringbuf_output(&ring, &copy, sizeof(copy), 0);",
	} {
		t.Run(name, func(t *testing.T) {
			b.T = t
			more := counter + `
				static __u8 row[64];
				struct { __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY); __type(key, __u32); __type(value, __u64); __uint(max_entries, 1); } each SEC(".maps");
				struct way { __u8 *at; void *end; };
				struct { __uint(type, BPF_MAP_TYPE_RINGBUF); __uint(max_entries, 4096); } ring SEC(".maps");`
			o := Object{Code: nftest.Compile(t, source(more, packetOfUser+body+"\nreturn NF_CONTINUE;"))}
			if got := b.Ask(b.Only(o), packetOf(1500)).Verdict; got != nf.Accept {
				t.Errorf("%v", got)
			}
		})
	}
}

// What no function may do, whatever it says.
func TestForbidden(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ before, body, want string }{
		"store_bytes": {"", "__u8 tos = 1; bpf_xdp_store_bytes(ctx, 15, &tos, 1); return 0;", "takes access: rewrite"},
		"redirect":    {"", "return bpf_redirect(1, 0);", "it calls bpf_redirect, which no function may"},
		"adjust_head": {"", "bpf_xdp_adjust_head(ctx, 8); return 0;", "it calls bpf_xdp_adjust_head, which no function may"},
		"tail call": {`struct { __uint(type, BPF_MAP_TYPE_PROG_ARRAY); __type(key, __u32); __type(value, __u32); __uint(max_entries, 1); } next SEC(".maps");`,
			"bpf_tail_call(ctx, &next, 0); return 0;", "its map next is of a type that functions may not have (ProgramArray)"},
		"another CPU's description": {"", "__u32 zero = 0; return bpf_map_lookup_percpu_elem(&nf_packets, &zero, 0) != 0;",
			"it calls bpf_map_lookup_percpu_elem with nf_packets: nf_packet() has what is described at it.bpf.c:"},
		"another's in a function": {"static __noinline void *other(void *map) { __u32 zero = 0; return bpf_map_lookup_percpu_elem(map, &zero, 0); }",
			"return other(&nf_packets) != 0;", "it calls bpf_map_lookup_percpu_elem with nf_packets"},
		"a kfunc": {"extern int bpf_xdp_metadata_rx_hash(const struct xdp_md *ctx, __u32 *hash, __u32 *type) __ksym;",
			"__u32 hash, type; return bpf_xdp_metadata_rx_hash(ctx, &hash, &type);", "it calls bpf_xdp_metadata_rx_hash of the kernel"},
		"a function that is not there": {"extern int nowhere(void);", "return nowhere();", "it calls \"nowhere\", which is not in it"},
		"kernel configuration":         {"extern int CONFIG_HZ __kconfig;", "return CONFIG_HZ;", "it needs the kernel's configuration"},
	} {
		o := Object{Code: nftest.Compile(t, source(c.before, c.body)), Rewrites: true}
		o.Rewrites = c.want != "takes access: rewrite"
		if err := o.Check(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}
