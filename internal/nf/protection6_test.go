package nf

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/cilium/ebpf"
	"pgregory.net/rapid"

	"github.com/realmgate/realmgate/internal/model"
)

// synFrom is a frame with a SYN between IPv6 addresses.
func synFrom(source, destination netip.Addr) []byte {
	frame := make([]byte, 14+40+20)
	frame[12], frame[13] = 0x86, 0xdd
	ip := frame[14:]
	ip[0], ip[5], ip[6], ip[7] = 6<<4, 20, 6, 64
	a, b := source.As16(), destination.As16()
	copy(ip[8:], a[:])
	copy(ip[24:], b[:])
	ip[40+13] = 2
	return frame
}

// judge6 runs a SYN of a remote end's, or to it, through the program, and returns the
// function that dropped it, 0 for none.
func (b *bed) judge6(remote netip.Addr, d model.Direction) uint32 {
	b.t.Helper()
	inside := netip.MustParseAddr("2001:db8::1")
	frame := synFrom(remote, inside)
	if d == model.Out {
		frame = synFrom(inside, remote)
	}
	each := make([]Packet, ebpf.MustPossibleCPU())
	for i := range each {
		each[i].Direction = uint8(d)
	}
	if err := b.Shared.Packets.Put(uint32(0), each); err != nil {
		b.t.Fatal(err)
	}
	const drop, pass = 1, 2
	action, err := b.Made.XDP.Protection.Run(&ebpf.RunOptions{Data: frame})
	if err != nil || action != drop && action != pass {
		b.t.Fatalf("action %d, %v", action, err)
	}
	if err := b.Shared.Packets.Lookup(uint32(0), &each); err != nil {
		b.t.Fatal(err)
	}
	function := uint32(0)
	for _, p := range each {
		function = max(function, p.Function)
	}
	if (function != 0) != (action == drop) {
		b.t.Fatalf("function %d and action %d", function, action)
	}
	return function
}

// edges6 are addresses around those at which the table is cut.
var edges6 = func() (list []netip.Addr) {
	for _, text := range []string{"::", "0:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "2001:db8::", "2001:db8::1:0:0:0:0", "2001:db8:0:0:8000::", "2002::", "8000::", "ff00::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"} {
		a := netip.MustParseAddr(text)
		list = append(list, a)
		for _, beside := range []netip.Addr{a.Prev(), a.Next(), a.Next().Next()} {
			if beside.IsValid() {
				list = append(list, beside)
			}
		}
	}
	return list
}()

// What the kernel knows of an IPv6 address is what a search through all ranges says, at
// their edges, too; the allowlist is stronger, and the blocklist is asked first.
func TestProtectionOfIPv6IsWhatTheSetsSay(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	address := rapid.OneOf(rapid.SampledFrom(edges6), rapid.Custom(func(t *rapid.T) netip.Addr {
		return netip.AddrFrom16([16]byte(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "bytes")))
	}))
	type runs []model.AddressRange6
	given := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) model.AddressRange6 {
		from, to := address.Draw(t, "a"), address.Draw(t, "b")
		if to.Less(from) {
			from, to = to, from
		}
		return model.AddressRange6{First: from.As16(), Last: to.As16()}
	}), 0, 12)
	has := func(r runs, a netip.Addr) bool {
		return slices.ContainsFunc(r, func(r model.AddressRange6) bool {
			return !a.Less(netip.AddrFrom16(r.First)) && !netip.AddrFrom16(r.Last).Less(a)
		})
	}
	set := func(r runs) *model.AddressSet {
		ranges := model.Ranges{V6: slices.Clone(r)}
		return ranges.Set()
	}
	always := set(runs{model.RangeOf6(netip.MustParsePrefix("fe80::/10"))}) // so that there is a program
	rapid.Check(t, func(rt *rapid.T) {
		of := map[model.Direction][3]runs{}
		sets := map[model.Direction]Addresses{}
		for _, d := range []model.Direction{model.In, model.Out} {
			r := [3]runs{given.Draw(rt, "allowed"), given.Draw(rt, "blocked"), given.Draw(rt, "fenced")}
			of[d], sets[d] = r, Addresses{set(r[0]), set(r[1]), set(r[2])}
		}
		if rapid.Bool().Draw(rt, "one blocklist for both") {
			r, s := of[model.Out], sets[model.Out]
			r[1], s.Blocked = of[model.In][1], sets[model.In].Blocked
			of[model.Out], sets[model.Out] = r, s
		}
		in := sets[model.In]
		if in.Fenced.Len() == 0 {
			in.Fenced = always
		}
		b.putPolicy(Policy{Protection: protectionOf(Remote{In: in, Out: sets[model.Out]})})
		for range 30 {
			a, d := address.Draw(rt, "address"), rapid.SampledFrom([]model.Direction{model.In, model.Out}).Draw(rt, "direction")
			want := uint32(0)
			switch r := of[d]; {
			case a.IsLinkLocalUnicast() || a.IsMulticast():
			case has(r[0], a):
			case has(r[1], a):
				want = 2
			case has(r[2], a):
				want = 3
			}
			if got := b.judge6(a, d); got != want {
				rt.Fatalf("%s, %s: function %d dropped it, want %d", a, d, got, want)
			}
		}
	})
}

// A prefix of 16 bits with very many ranges is searched to its ends.
func TestProtectionOfIPv6InADensePrefix(t *testing.T) {
	t.Parallel()
	const count = 200_000
	b := newBed(t)
	blocked := model.Ranges{V6: make([]model.AddressRange6, count)}
	at := func(i int) (a netip.Addr) {
		return netip.AddrFrom16([16]byte{0x20, 0x01, byte(i >> 16), byte(i >> 8), byte(i), 15: 7})
	}
	for i := range count {
		blocked.V6[i] = model.RangeOf6(netip.PrefixFrom(at(i), 128))
	}
	b.putPolicy(Policy{Protection: protectionOf(Remote{In: Addresses{Blocked: blocked.Set()}})})
	for _, i := range []int{0, 1, 2, 3, count / 2, count - 2, count - 1} {
		for a, want := range map[netip.Addr]uint32{at(i): 2, at(i).Next(): 0, at(i).Prev(): 0} {
			if got := b.judge6(a, model.In); got != want {
				t.Errorf("%s: function %d dropped it, want %d", a, got, want)
			}
		}
	}
}

// More ranges than the kernel's table takes are told before anything is loaded, and
// without any IPv6 address there is no program.
func TestProtectionOfIPv6ThatIsTooLarge(t *testing.T) {
	t.Parallel()
	var r model.Ranges
	for i := range mostRanges6/2 + 1 {
		a := netip.AddrFrom16([16]byte{0x20, byte(i >> 24), byte(i >> 16), byte(i >> 8), byte(i), 15: 7})
		r.V6 = append(r.V6, model.RangeOf6(netip.PrefixFrom(a, 128)))
	}
	policy := Policy{Protection: protectionOf(Remote{In: Addresses{Blocked: r.Set()}})}
	if err := Check(policy); err == nil || !strings.Contains(err.Error(), "the IPv6 addresses of allowlist, blocklist and geofence together") {
		t.Errorf("%v", err)
	}
	b := newBed(t)
	b.putPolicy(Policy{Protection: protectionOf(Remote{In: Addresses{Blocked: setOf("0.0.0.0/0")}})})
	if b.Made.XDP.Protection != nil {
		t.Error("there is a program for IPv6, of which nothing is known")
	}
}
