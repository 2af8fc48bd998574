package e2e

import (
	"context"
	"fmt"
	"net/netip"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/lab/netns"
	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
)

// shark is what tshark prints of the packets of a file that a display filter lets through, a line each.
func shark(t *testing.T, file, filter string, fields ...string) []string {
	t.Helper()
	arguments := []string{"-r", file, "-Y", filter, "-T", "fields", "-E", "separator=|"}
	for _, f := range fields {
		arguments = append(arguments, "-e", f)
	}
	command := exec.CommandContext(context.Background(), "tshark", arguments...)
	var stderr strings.Builder
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil {
		t.Fatalf("tshark: %v\n%s", err, &stderr)
	}
	return strings.FieldsFunc(string(out), func(r rune) bool { return r == '\n' })
}

// operations.md, done when 21: a display filter on the comment finds exactly the packets that drops counted, each with the
// interface and the direction that it had, and as it was sent.
func TestCaptureOfDrops(t *testing.T) {
	t.Parallel()
	r := newRealm(t, netns.Options{Hosts: 1, Clients: 2})
	r.webServers()
	d := r.start(r.configuration())
	inside, known, stranger := r.Gateway.Hosts[0], r.Clients[0], r.Clients[1]
	lent := r.mustLend(known, "www."+hostName(0))
	if _, err := curl(known, lent, 80); err != nil { // whoever comes now has nothing to claim
		t.Fatal(err)
	}
	fromHost, fromOutside := r.sender(inside, r.gatewayMAC(r.Gateway.Private[0])), r.sender(stranger, r.gatewayMAC(r.Gateway.Public[0]))
	from := func(port uint16) netip.AddrPort { return netip.AddrPortFrom(stranger.IP, port) }
	sent := map[model.Reason]struct {
		packets int
		put     func(packets.Packet)
		p       packets.Packet
		side    string
		words   string
	}{
		"drop_no_reservation": {4, fromOutside, packets.NewTCP(from(40000), netip.AddrPortFrom(lent, 80), packets.SYN, ""), r.Gateway.Public[0],
			fmt.Sprintf("%s is lent to nobody that %s could be", lent, stranger.IP)},
		"drop_no_mapping": {60, fromOutside, packets.NewUDP(from(40001), netip.AddrPortFrom(r.Gateway.Outbound, 40009), "hello"), r.Gateway.Public[0],
			fmt.Sprintf("nobody inside has %s:40009 open", r.Gateway.Outbound)},
		"drop_no_binding": {7, fromOutside, packets.NewUDP(from(40002), netip.AddrPortFrom(lent, 9), strings.Repeat("x", 600)), r.Gateway.Public[0],
			fmt.Sprintf("no service is at %s:9", lent)},
		"drop_protocol": {5, fromHost, packets.Packet{
			IPv4: &packets.IPv4{Source: inside.IP, Destination: stranger.IP, Protocol: 51, TTL: 64}, Payload: []byte("of another protocol"),
		}, r.Gateway.Private[0], "the protocol is not translated"},
	}
	file := filepath.Join(r.directory, "drops.pcapng")
	capture := d.capture("--drops", "-w", file)
	var listed said
	lines := d.gateway.Command(context.Background(), program, "drops", "--instance", d.instance)
	lines.Stdout = &listed
	if err := lines.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = lines.Process.Kill() })
	canary := packets.NewUDP(netip.AddrPortFrom(inside.IP, 40003), netip.MustParseAddrPort("239.1.2.3:9"), "")
	eventually(t, 10*time.Second, "drops are listed", func() bool {
		fromHost(canary)
		return strings.Contains(listed.String(), "drop_multicast")
	})

	before := map[model.Reason]uint64{}
	for reason, s := range sent {
		before[reason] = d.counted(reason)
		for range s.packets {
			s.put(s.p)
		}
	}
	for reason, s := range sent {
		eventually(t, 10*time.Second, fmt.Sprint(s.packets, " are counted as ", reason), func() bool { return d.counted(reason)-before[reason] >= uint64(s.packets) })
		eventually(t, 10*time.Second, "they are in the file", func() bool {
			return len(shark(t, file, fmt.Sprintf("frame.comment contains %q", reason+";"), "frame.number")) >= s.packets
		})
	}
	_ = capture.Process.Signal(syscall.SIGINT)
	capture.ends(0, " captured, 0 lost\n")
	_ = lines.Process.Signal(syscall.SIGINT)
	_ = lines.Wait() // what it printed says it
	for reason, s := range sent {
		frames := shark(t, file, fmt.Sprintf("frame.comment contains %q", reason+";"), "frame.comment", "frame.interface_name", "frame.packet_flags", "frame.drop_count", "frame.len", "frame.cap_len")
		shown := strings.Count(listed.String(), fmt.Sprintf(" %s ", reason))
		if n := d.counted(reason) - before[reason]; len(frames) != int(n) || shown != int(n) || s.packets != int(n) {
			t.Errorf("%s: %d were sent, %d counted, %d shown, and %d found by the comment", reason, s.packets, n, shown, len(frames))
		}
		length := len(s.p.Between(packets.MAC{}, packets.MAC{}).Bytes())
		want := fmt.Sprintf("%s; %s|%s|0x00000001|0|%d|%d", reason, s.words, s.side, length, min(length, 128))
		for _, frame := range frames {
			if frame != want {
				t.Errorf("it has\n%s, want\n%s", frame, want)
			}
		}
	}
	if found := shark(t, file, fmt.Sprintf(`frame.comment contains "drop_no_mapping;" && ip.src == %s && udp.dstport == 40009 && data.data == "hello"`, stranger.IP), "frame.number"); len(found) != 60 {
		t.Errorf("%d have the octets that were sent", len(found))
	}
}
