package object

import (
	"os"
	"strings"
	"testing"

	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/nf"
	"github.com/realmgate/realmgate/internal/nf/nftest"
)

// source is a whole object: what stands before the function, and its body.
func source(before, body string) string {
	return "#include <nf.h>\n#include <stdbool.h>\n#include <linux/if_ether.h>\n#include <linux/ip.h>\n" + before +
		"\nSEC(\"xdp\") int function(struct xdp_md *ctx)\n{\n" + body + "\n}\nchar _license[] SEC(\"license\") = \"GPL\";\n"
}

// packetOf is a packet from outside.
func packetOf(length uint16) nf.Packet {
	return nf.Packet{Source: 1, Destination: 1, SourcePort: 1, DestinationPort: 2, Protocol: uint8(model.UDP), Direction: uint8(model.In), Length: length, Segments: 1}
}

const packetOfUser = `
	const struct nf_packet *packet = nf_packet();
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct iphdr *ip = data + sizeof(struct ethhdr);

	if (!packet || (void *)(ip + 1) > end)
		return NF_FAIL;
`

const callee = `
static __noinline int largest(struct xdp_md *ctx, const struct nf_packet *packet)
{
	return packet->length > 100 ? NF_DROP : NF_CONTINUE;
}
`

const counter = `
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, __u32);
	__type(value, __u64);
	__uint(max_entries, 4);
} seen SEC(".maps");
static __u64 all;
const volatile __u32 limit = 100;
`

// What functions may have: functions of their own, maps, variables, arrays on the stack.
func TestObjectDecides(t *testing.T) {
	t.Parallel()
	b := nftest.New(t)
	for name, c := range map[string]struct {
		object Object
		source string
	}{
		"plain":    {Object{}, source("", packetOfUser+"return packet->length > 100 ? NF_DROP : NF_CONTINUE;")},
		"function": {Object{}, source(callee, packetOfUser+"return largest(ctx, packet);")},
		"maps": {Object{}, source(counter, packetOfUser+`
			__u32 key = ip->tos & 3;
			__u64 *count = bpf_map_lookup_elem(&seen, &key);

			if (count)
				*count += 1;
			all += packet->length;
			return packet->length > limit ? NF_DROP : NF_CONTINUE;`)},
		"stack": {Object{}, source("", packetOfUser+`
			volatile char row[256];

			for (int i = 0; i < 256; i++)
				row[i] = 0;
			row[ip->tos] = packet->length > 100;
			return row[ip->tos] ? NF_DROP : NF_CONTINUE;`)},
		"callback": {Object{}, source(`
			static int each(__u32 i, __u32 *sum) { *sum += i; return 0; }`, packetOfUser+`
			__u32 sum = 0;

			bpf_loop(5, each, &sum, 0);
			return packet->length > sum * 10 ? NF_DROP : NF_CONTINUE;`)},
		"rewrites": {Object{Rewrites: true}, source("", packetOfUser+`
			ip->tos = 8;
			return packet->length > 100 ? NF_DROP : NF_CONTINUE;`)},
	} {
		t.Run(name, func(t *testing.T) {
			b.T = t
			c.object.Code = nftest.Compile(t, c.source)
			b.Put(nf.Chain{Name: "it", Rules: []nf.Rule{{}}, Steps: []nf.Step{
				{Number: 1, Function: Object{Code: nftest.Compile(t, source("", "return NF_CONTINUE;"))}},
				{Number: 2, Function: c.object}, {Number: 3, Function: nftest.Fixed(nf.Accept)},
			}})
			before := b.Count(2)
			for length, want := range map[uint16]nftest.Said{40: {Verdict: nf.Accept, Function: 3}, 101: {Verdict: nf.Drop, Function: 2}} {
				if got := b.Classify(packetOf(length)); got != want {
					t.Errorf("of length %d: %+v, want %+v", length, got, want)
				}
			}
			if after := b.Count(2); after.Seen != before.Seen+2 || after.Failed != before.Failed {
				t.Errorf("counted %+v, before %+v", after, before)
			}
		})
	}
}

const unchecked = "return ((struct ethhdr *)(long)ctx->data)->h_proto;"

// What is wrong with an object is said without the kernel where that can be.
func TestObjectIsRefused(t *testing.T) {
	t.Parallel()
	program, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	table := func(kind, entries, more string) string {
		return "struct { __uint(type, " + kind + "); __type(key, __u32); __type(value, __u64[128]); __uint(max_entries, " + entries + "); " + more + "} table SEC(\".maps\");"
	}
	lookup := "__u32 zero = 0; return bpf_map_lookup_elem(&table, &zero) != 0;"
	for name, c := range map[string]struct {
		code []byte
		want string
	}{
		"no ELF":           {[]byte("hello"), "it is not a compiled object (ELF)"},
		"cut off":          {nftest.Compile(t, source("", "return 0;"))[:200], "it is not a compiled object (ELF)"},
		"huge variables":   {nftest.Compile(t, source("char row[1 << 30];", "return row[7];")), "its section .bss takes 1024 MiB: at most 64"},
		"another machine":  {program, "unexpected machine type"},
		"other byte order": {nftest.Compile(t, source("", "return 0;"), "-target", "bpfeb"), "the other byte order"},
		"no program":       {nftest.Compile(t, "int x;\n"), "it has 0 programs (): a function is one"},
		"two programs":     {nftest.Compile(t, source(`SEC("xdp") int another(struct xdp_md *ctx) { return 0; }`, "return 0;")), "it has 2 programs (another, function): a function is one"},
		"of another type":  {nftest.Compile(t, "#include <nf.h>\nSEC(\"tc\") int it(void *ctx) { return 0; }\n"), `its program it is marked SEC("tc"): mark it SEC("xdp")`},
		"fragments":        {nftest.Compile(t, "#include <nf.h>\nSEC(\"xdp.frags\") int it(void *ctx) { return 0; }\n"), `mark it SEC("xdp")`},
		"too large a map":  {nftest.Compile(t, source(table("BPF_MAP_TYPE_HASH", "65536", ""), lookup)), "its maps take 69 MiB: at most 64"},
		"a huge map":       {nftest.Compile(t, source(table("BPF_MAP_TYPE_PERCPU_HASH", "4294967295", ""), lookup)), "MiB: at most 64"},
		"no entries":       {nftest.Compile(t, source(table("BPF_MAP_TYPE_HASH", "0", ""), lookup)), "its map table has no max_entries"},
		"a pinned map":     {nftest.Compile(t, source(table("BPF_MAP_TYPE_HASH", "1", "__uint(pinning, LIBBPF_PIN_BY_NAME);"), lookup)), "its map table is pinned"},
		"too much stack": {nftest.Compile(t, source("", `volatile char row[500]; for (int i = 0; i < 500; i++) row[i] = 1; return row[7];`)),
			"bytes of stack: at most"},
		// Its store is through what the instruction says is no packet; the loader would change where it reads.
		"a type of the kernel": {nftest.Compile(t, source("struct xdp_md___far { char pad[24]; __u32 data, data_end; } __attribute__((preserve_access_index));", `
			struct xdp_md___far *far = (void *)ctx;
			char *data = (void *)(long)far->data, *end = (void *)(long)far->data_end;
			if (data + 16 > end) return NF_CONTINUE;
			data[15] = 0x42;
			return NF_CONTINUE;`)), "it depends on the layout of a type of the kernel (CO-RE)"},
		"another interface": {nftest.Compile(t, `
			#include <linux/bpf.h>
			#include <bpf/bpf_helpers.h>
			struct nf_packet { __u32 other; };
			struct { __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY); __type(key, __u32); __type(value, struct nf_packet); __uint(max_entries, 1); } nf_packets SEC(".maps");
			SEC("xdp") int it(void *ctx) { __u32 zero = 0; return bpf_map_lookup_elem(&nf_packets, &zero) != 0; }`),
			"its nf_packets is not this version's"},
	} {
		if err := (Object{Code: c.code}).Check(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}

// What only the kernel can tell it says in a line.
func TestKernelRefusesObject(t *testing.T) {
	t.Parallel()
	b := nftest.New(t)
	for name, c := range map[string]struct{ before, body, want string }{
		"reads unchecked": {"", unchecked, "function it: the kernel's verifier refuses it: R1 offset is outside of the packet at return"},
		"two frames": {`static __noinline int deep(__u32 n) { volatile char row[400]; for (int i = 0; i < 400; i++) row[i] = n; return row[n & 127]; }`,
			`volatile char row[200]; for (int i = 0; i < 200; i++) row[i] = i; return deep(row[7]);`, "combined stack size of 2 calls"},
	} {
		o := Object{Code: nftest.Compile(t, source(c.before, c.body))}
		if err := o.Check(); err != nil {
			t.Errorf("%s: refused without the kernel: %v", name, err)
		}
		made, err := nf.Build(nf.Policy{Chains: []nf.Chain{{Name: "c", Steps: []nf.Step{{Name: "it", Number: 1, Function: o}}}}}, b.Shared, 1, &b.States)
		if err == nil {
			made.Close()
		}
		b.States.Forget()
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}

// A function's tables stay while its file does, whatever is around it.
func TestObjectKeepsItsMaps(t *testing.T) {
	t.Parallel()
	b := nftest.New(t)
	body := packetOfUser + "return all++ > 2 ? NF_DROP : NF_ACCEPT;"
	first, second := Object{Code: nftest.Compile(t, source(counter, body))}, Object{Code: nftest.Compile(t, source(counter, strings.Replace(body, "> 2", "> 3", 1)))}
	put := func(o Object, more ...nftest.Fixed) {
		b.T.Helper()
		steps := []nf.Step{{Number: 1, Function: o}}
		for i, f := range more {
			steps = append(steps, nf.Step{Number: uint32(i + 2), Function: f})
		}
		b.Put(nf.Chain{Name: "it", Rules: []nf.Rule{{}}, Steps: steps})
	}
	for i, c := range []struct {
		object Object
		more   []nftest.Fixed
		want   nf.Verdict
	}{{first, nil, nf.Accept}, {first, []nftest.Fixed{nftest.Fixed(nf.Drop)}, nf.Accept}, {first, nil, nf.Accept}, {first, nil, nf.Drop}, {second, nil, nf.Accept}, {first, nil, nf.Accept}} {
		put(c.object, c.more...)
		if got := b.Classify(packetOf(40)).Verdict; got != c.want {
			t.Errorf("change %d: %v, want %v", i, got, c.want)
		}
	}
}

// An object counts what it wants to, and in dry runs it begins with nothing.
func TestDryRunLeavesObjectsMaps(t *testing.T) {
	t.Parallel()
	b := nftest.New(t)
	it := Object{Code: nftest.Compile(t, source(counter, packetOfUser+"return all++ > 2 ? NF_DROP : NF_ACCEPT;"))}
	chains := []nf.Chain{{Name: "it", Rules: []nf.Rule{{}}, Steps: []nf.Step{{Number: 1, Function: it}}}}
	b.Put(chains...)
	ask := func(want nf.Verdict) {
		t.Helper()
		if got := b.Classify(packetOf(40)).Verdict; got != want {
			t.Errorf("in force: %v, want %v", got, want)
		}
	}
	ask(nf.Accept)
	ask(nf.Accept)
	for range 2 {
		dry := b.Looking()
		for i, want := range []string{"accept, passes", "accept, passes", "accept, passes", "drop, drops"} {
			if got := dry.Dry(packetOf(40)); got != "it: 1 "+want {
				t.Errorf("packet %d of the dry runs: %q, want %q", i, got, want)
			}
		}
	}
	ask(nf.Accept)
	ask(nf.Drop)
}

// Whatever bytes are given as an object, reading it ends.
func FuzzObject(f *testing.F) {
	for _, path := range []string{"../matching_bpfel.o", "../ratelimit/ratelimit_bpfel.o", "../classifier_bpfel.o"} {
		code, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(code)
	}
	f.Fuzz(func(_ *testing.T, code []byte) { _ = Object{Code: code}.Check() })
}
