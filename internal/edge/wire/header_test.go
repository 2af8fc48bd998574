package wire

import (
	"bytes"
	"encoding/hex"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"
)

// vector is an inner packet with what is in front of it. test/datapath holds the kernel's programs to the same.
type vector struct {
	name   string
	header Header
	inner  []byte
	front  string // 48 octets, hexadecimal
}

func octets(text string) []byte {
	all, err := hex.DecodeString(strings.ReplaceAll(text, " ", ""))
	if err != nil {
		panic(err)
	}
	return all
}

var (
	here  = netip.MustParseAddr("198.18.0.1")
	there = netip.MustParseAddr("203.0.113.9")
	// 00 01 … 0f: the key of SipHash's own vectors.
	counting = [16]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}
)

var vectors = []vector{
	{
		"a TCP segment", Header{Local: here, Remote: there, SourcePort: 49152, VNI: 0x010203, Epoch: 5, Key: counting},
		octets("4500 002c 1234 4000 4006 0000 0001 0002 8003 0004" + "c000 0050 0000 0001 0000 0000 6002 ffff 0000 0000 0204 05b4"), "4500005c0000400040113874c6120001cb007109 c00017c100480000 0340080001020300 ff528502 a087184611c2f64a",
	},
	{
		"a datagram whose sender knows ECN, which goes to the outer header", Header{Local: here, Remote: there, SourcePort: 65535, VNI: 1, Epoch: 127, TOS: 2, Key: counting},
		octets("4502 001e 0000 0000 4011 0000 ffff 0001 0001 ffff" + "1234 0035 000a abcd 6869"), "4502004e0000400040113880c6120001cb007109 ffff17c1003a0000 0340080000000100 ff52ff02 1d479c589dc37eb0",
	},
	{
		"an echo with IP options", Header{Local: here, Remote: there, SourcePort: 50000, VNI: 0xffffff, Key: counting},
		octets("4600 0022 0000 4000 4001 0000 0001 0002 0003 0004 0101 0100" + "0800 f7fd 0001 0001 6869"), "45000052000040004011387ec6120001cb007109 c35017c1003e0000 03400800ffffff00 ff528002 8cb7c9c38033861d",
	},
	{
		"a later fragment, shorter than eight octets", Header{Local: here, Remote: there, SourcePort: 50000, VNI: 0x42, Epoch: 1, Key: counting},
		octets("4500 0017 0007 00b9 4011 0000 0001 0002 0003 0004" + "61 62 63"), "450000470000400040113889c6120001cb007109 c35017c100330000 0340080000004200 ff528102 cf2d4910557e51e4",
	},
}

func TestHeaderIsWrittenOctetForOctet(t *testing.T) {
	t.Parallel()
	for _, v := range vectors {
		packet := Encapsulate(v.header, v.inner)
		if got := hex.EncodeToString(packet[:Overhead]); got != strings.ReplaceAll(v.front, " ", "") {
			t.Errorf("%s: got\n%s, want\n%s", v.name, got, v.front)
		}
		h, inner, err := Decapsulate(append(packet, 0, 0)) // and padding
		if err != nil || !bytes.Equal(inner, v.inner) {
			t.Errorf("%s: got %x, %v", v.name, inner, err)
		}
		want := v.header
		want.Key, want.Authenticator = [16]byte{}, Authenticator(counting, v.header.VNI, v.inner)
		if h != want {
			t.Errorf("%s: got %+v, want %+v", v.name, h, want)
		}
	}
}

// Each octet of the header that an edge fixes, changed: malformed, or a fragment.
func TestHeadersOfOthersAreRefused(t *testing.T) {
	t.Parallel()
	v := vectors[0]
	for _, c := range []struct {
		name string
		want error
		at   int
		to   string
	}{
		{"well", nil, 0, ""},
		{"reserved bits of GENEVE, which are not looked at", nil, 29, "7f"},
		{"reserved octet behind the VNI", nil, 35, "ff"},
		{"IPv6", ErrHeader, 0, "65"},
		{"IP options", ErrHeader, 0, "46"},
		{"TCP", ErrHeader, 9, "06"},
		{"more than there is", ErrHeader, 2, "00ff"},
		{"less than both headers", ErrHeader, 2, "0030"},
		{"more fragments", ErrFragment, 6, "6000"},
		{"a later fragment", ErrFragment, 6, "0001"},
		{"another port", ErrHeader, 22, "17c0"},
		{"a UDP length that is not the rest", ErrHeader, 24, "0047"},
		{"a UDP checksum", ErrHeader, 26, "0001"},
		{"GENEVE version 1", ErrHeader, 28, "43"},
		{"two words of options", ErrHeader, 28, "02"},
		{"four words of options", ErrHeader, 28, "04"},
		{"the control bit", ErrHeader, 29, "c0"},
		{"no critical option", ErrHeader, 29, "00"},
		{"Ethernet inside", ErrHeader, 30, "6558"},
		{"another class", ErrHeader, 36, "ff53"},
		{"an option that is not critical", ErrHeader, 38, "05"},
		{"an option of three words", ErrHeader, 39, "03"},
		{"IPv6 inside", ErrHeader, 48, "65"},
		{"an inner header without end", ErrHeader, 48, "4f"},
		{"an inner header shorter than one", ErrHeader, 48, "44"},
		{"an inner length that is less", ErrHeader, 50, "002b"},
		{"an inner length that is more", ErrHeader, 50, "002d"},
	} {
		packet := Encapsulate(v.header, v.inner)
		copy(packet[c.at:], octets(c.to))
		packet[10], packet[11] = 0, 0
		check := ^sum(packet[:20])
		packet[10], packet[11] = byte(check>>8), byte(check)
		if _, _, err := Decapsulate(packet); !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", c.name, err, c.want)
		}
	}
	packet := Encapsulate(v.header, v.inner)
	packet[8]-- // and the checksum as it was
	if _, _, err := Decapsulate(packet); !errors.Is(err, ErrHeader) {
		t.Errorf("a wrong header checksum: got %v", err)
	}
	for length := range packet {
		if _, _, err := Decapsulate(packet[:length]); !errors.Is(err, ErrHeader) {
			t.Errorf("cut to %d octets: got %v", length, err)
		}
	}
}

// covered tells what of the inner packet the authenticator is about, and what it is not.
func TestAuthenticatorCovers(t *testing.T) {
	t.Parallel()
	tcp, udp := vectors[0].inner, vectors[1].inner
	for _, c := range []struct {
		name    string
		inner   []byte
		covered []int
	}{
		{"TCP", tcp, []int{2, 3, 6, 7, 9, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27}},
		{"UDP", udp, []int{2, 3, 6, 7, 9, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25}},
	} {
		right := Authenticator(counting, 5, c.inner)
		var covered []int
		for i := range c.inner {
			if i == 0 {
				continue // version and length say where the transport header is
			}
			changed := bytes.Clone(c.inner)
			changed[i] ^= 0x10
			if i == 9 {
				changed[i] = 132 // not from or to UDP's rule
			}
			if Authenticator(counting, 5, changed) != right {
				covered = append(covered, i)
			}
		}
		if !slices.Equal(covered, c.covered) {
			t.Errorf("%s: octets %v are covered, want %v", c.name, covered, c.covered)
		}
		if Authenticator(counting, 6, c.inner) == right || Authenticator([16]byte{}, 5, c.inner) == right {
			t.Errorf("%s: VNI or key are not covered", c.name)
		}
	}
	if got := Authenticator(counting, 5, tcp[:19]); got != 0 {
		t.Errorf("less than a header: got %x", got)
	}
}

func TestProbesAreRead(t *testing.T) {
	t.Parallel()
	h := Header{VNI: 7, Epoch: 3, Key: counting}
	key := func(vni uint32, epoch uint8) ([16]byte, bool) { return counting, vni == 7 && epoch == 3 }
	for _, size := range []int{LeastProbe, 1328, 1500, 9000} {
		probe := AppendProbe(nil, h, 0x0123456789abcdef, size)
		if vni, nonce, got, err := ReadProbe(probe, key); err != nil || vni != 7 || nonce != 0x0123456789abcdef || got != size || len(probe) != size-28 {
			t.Errorf("%d octets: got %d, %x, %d, %v", size, vni, nonce, got, err)
		}
		if _, _, _, err := ReadProbe(probe[:len(probe)-1], key); !errors.Is(err, ErrProbe) {
			t.Errorf("a probe of %d that was cut: got %v", size, err)
		}
		for _, at := range []int{0, 1, 4, 8, 10, 12, 20, 27} { // GENEVE, VNI, class, epoch, authenticator, nonce
			changed := bytes.Clone(probe)
			changed[at] ^= 0x80
			if _, _, _, err := ReadProbe(changed, key); !errors.Is(err, ErrProbe) {
				t.Errorf("a probe whose octet %d was changed: got %v", at, err)
			}
		}
	}
	if got := len(AppendProbe([]byte("x"), h, 1, 0)); got != 1+LeastProbe-28 {
		t.Errorf("the least probe has %d octets", got)
	}
}

// RFC 6040, figure 4.
func TestECN(t *testing.T) {
	t.Parallel()
	const not, one, zero, ce = 0, 1, 2, 3
	for inner, row := range [4][4]int{not: {not, not, not, -1}, one: {one, one, one, ce}, zero: {zero, one, zero, ce}, ce: {ce, ce, ce, ce}} {
		for outer, want := range row {
			field, passes := ECN(uint8(outer)|0xb8, uint8(inner)|0x04)
			if passes != (want >= 0) || passes && int(field) != want {
				t.Errorf("outer %d, inner %d: got %d, %v, want %d", outer, inner, field, passes, want)
			}
		}
	}
}
