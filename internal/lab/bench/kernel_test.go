package bench

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/lab/bench/trafficgen"
)

// kernelNAT makes the kernel translate in the rig's device, by rules that the lab's
// own devices have no part in.
func kernelNAT(t *testing.T, r *Rig, pool trafficgen.Addresses) {
	t.Helper()
	if err := r.Device.SetSysctl("net/ipv4/ip_forward", "1"); err != nil {
		t.Fatal(err)
	}
	rules := fmt.Sprintf("table ip t { chain c { type nat hook postrouting priority srcnat; oifname %s snat to %s-%s; }; }",
		PublicInterface, pool.First, pool.Last())
	command := r.Device.Command(t.Context(), "nft", "-f", "-")
	command.Stdin = strings.NewReader(rules)
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("nft: %v: %s", err, out)
	}
}

// Everything that the tester says of a trial is also what the kernel's own
// counters say, which know nothing of the tester.
func TestTesterAgreesWithTheKernelsCounters(t *testing.T) {
	flows, pool := FlowsFor(3000, 1)
	sessions := flows.Count()
	r, g := testRig(t, sessions)
	kernelNAT(t, r, pool)
	read := func(ifname, counter string) int {
		text, err := r.Device.Command(t.Context(), "ip", "-s", "-j", "link", "show", ifname).Output()
		if err != nil {
			t.Fatal(err)
		}
		_, after, _ := strings.Cut(string(text), `"`+counter+`":{`)
		_, after, _ = strings.Cut(after, `"packets":`)
		number, _, _ := strings.Cut(after, ",")
		n, err := strconv.Atoi(number)
		if err != nil {
			t.Fatalf("%s of %s: %v in %s", counter, ifname, err, text)
		}
		return n
	}
	before := [4]int{read(PrivateInterface, "rx"), read(PublicInterface, "tx"), read(PublicInterface, "rx"), read(PrivateInterface, "tx")}
	p := testPlan(flows)
	p.Pool = pool
	forth := run(t, g, p)
	p.Direction, p.Random, p.Frames = trafficgen.Both, true, 8000
	both := run(t, g, p)
	if forth.Lost()+forth.Wrong()+both.Lost()+both.Wrong()+both.Missing != 0 {
		t.Fatalf("%+v\n%+v", forth, both)
	}
	// The kernel may send a packet or two of its own.
	const own = 4
	for i, want := range []uint64{
		forth.Sent + both.Sent/2, forth.Responder.Received + both.Responder.Received, both.Sent / 2, both.Initiator.Received,
	} {
		ends := [][2]string{{PrivateInterface, "rx"}, {PublicInterface, "tx"}, {PublicInterface, "rx"}, {PrivateInterface, "tx"}}[i]
		if got := read(ends[0], ends[1]) - before[i]; got < int(want) || got > int(want)+own {
			t.Errorf("%s of %s counts %d packets, the tester %d", ends[1], ends[0], got, want)
		}
	}
	out, err := r.Device.Command(t.Context(), "conntrack", "-C").Output()
	if count := strings.TrimSpace(string(out)); err != nil || count != strconv.Itoa(sessions) {
		t.Errorf("conntrack -C says %q after %d sessions: %v", count, sessions, err)
	}
}

// capture runs tcpdump on an interface of the device until stop is called, which
// returns the UDP frames that it saw.
func capture(t *testing.T, r *Rig, ifname string, frames int) (stop func() [][]byte) {
	t.Helper()
	file := filepath.Join(t.TempDir(), ifname+".pcap")
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	command := r.Device.Command(ctx, "tcpdump", "-i", ifname, "-w", file, "-U", "-B", "32768", "-s", "0", "-c", strconv.Itoa(frames), "-Z", "root", "udp")
	stderr, err := command.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	told := make([]byte, 4096)
	for said := ""; !strings.Contains(said, "listening on"); {
		n, err := stderr.Read(told)
		if err != nil {
			t.Fatalf("tcpdump: %v: %s", err, said)
		}
		said += string(told[:n])
	}
	return func() [][]byte {
		t.Helper()
		defer cancel()
		if err := command.Wait(); err != nil {
			t.Errorf("tcpdump on %s does not see %d frames: %v", ifname, frames, err)
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return framesOf(t, text)
	}
}

// framesOf reads a capture file.
func framesOf(t *testing.T, text []byte) (frames [][]byte) {
	t.Helper()
	const fileHeader, frameHeader = 24, 16
	if !bytes.HasPrefix(text, []byte{0xd4, 0xc3, 0xb2, 0xa1}) {
		t.Fatalf("no capture file: %x", text[:min(len(text), 4)])
	}
	for text = text[fileHeader:]; len(text) >= frameHeader; {
		n := frameHeader + int(binary.LittleEndian.Uint32(text[8:]))
		frames = append(frames, text[frameHeader:n])
		text = text[n:]
	}
	return frames
}

type tuple struct{ source, destination netip.AddrPort }

func tupleOf(frame []byte) tuple {
	endpoint := func(address, port int) netip.AddrPort {
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte(frame[address:])), binary.BigEndian.Uint16(frame[port:]))
	}
	return tuple{endpoint(26, 34), endpoint(30, 36)}
}

// What leaves is what RFC 9693 and RFC 4814 ask for, as tcpdump sees it on both
// sides of the device: every flow once, from the ranges, in no order that a device
// could know, and translated behind it.
func TestFramesAsTcpdumpSeesThem(t *testing.T) {
	flows, pool := FlowsFor(2000, 1)
	r, g := testRig(t, flows.Count())
	kernelNAT(t, r, pool)
	inside, outside := capture(t, r, PrivateInterface, flows.Count()), capture(t, r, PublicInterface, flows.Count())
	p := testPlan(flows)
	p.Pool, p.Length = pool, 128
	if o := run(t, g, p); o.Lost() != 0 || o.Wrong() != 0 {
		t.Fatalf("%+v", o)
	}
	seen, ascending := map[tuple]bool{}, 0
	var last uint16
	for _, frame := range inside() {
		f := tupleOf(frame)
		seen[f] = true
		if f.source.Port() > last {
			ascending++
		}
		last = f.source.Port()
		switch {
		case len(frame) != 128-4:
			t.Fatalf("a frame of %d octets without its check sequence, want 124", len(frame))
		case !Sources.Contains(f.source.Addr()) || !Destinations.Contains(f.destination.Addr()):
			t.Fatalf("%v is not of the test networks", f)
		case f.source.Port() < 1024 || f.destination.Port() < 1 || f.destination.Port() > 49151:
			t.Fatalf("%v is outside of RFC 4814's ranges", f)
		}
	}
	if len(seen) != flows.Count() {
		t.Errorf("%d different flows, want %d", len(seen), flows.Count())
	}
	if share := float64(ascending) / float64(flows.Count()); share < 0.4 || share > 0.6 {
		t.Errorf("the next port is higher in %.0f %% of the frames", 100*share)
	}
	outer := map[tuple]bool{}
	for _, frame := range outside() {
		f := tupleOf(frame)
		outer[f] = true
		if a := f.source.Addr(); a.Less(pool.First) || pool.Last().Less(a) {
			t.Fatalf("%v left untranslated", f)
		}
	}
	if len(outer) != flows.Count() {
		t.Errorf("%d different flows behind the device, want %d", len(outer), flows.Count())
	}
}
