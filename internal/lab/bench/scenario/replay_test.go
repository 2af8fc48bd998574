package scenario

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/realmgate/realmgate/internal/lab/bench"
	"github.com/realmgate/realmgate/internal/lab/packets"
)

// writeCapture has a TCP connection, a question and its answer, and a ping.
func writeCapture(t *testing.T) (path string, packetCount int) {
	t.Helper()
	client, server := packets.At("192.168.1.7:40000"), packets.At("203.0.113.9:443")
	asker, resolver := packets.At("192.168.1.8:5353"), packets.At("203.0.113.53:53")
	list := []packets.Packet{
		packets.NewTCP(client, server, packets.SYN, ""), packets.NewTCP(server, client, packets.SYN|packets.ACK, ""),
		packets.NewTCP(client, server, packets.ACK, ""), packets.NewTCP(client, server, packets.PSH|packets.ACK, "hello"),
		packets.NewTCP(server, client, packets.PSH|packets.ACK, "hello yourself"),
		packets.NewUDP(asker, resolver, "who?"), packets.NewUDP(resolver, asker, "nobody"),
		packets.NewEcho(client.Addr(), server.Addr(), 77, 1), packets.NewEchoReply(server.Addr(), client.Addr(), 77, 1),
	}
	for i, sequence := range []uint32{1000, 5000, 1001, 1001, 5001} {
		list[i].TCP.Sequence = sequence
	}
	for i, acknowledge := range []uint32{0, 1001, 5001, 5001, 1006} {
		list[i].TCP.Acknowledge = acknowledge
	}
	file := binary.LittleEndian.AppendUint32(nil, 0xa1b2c3d4)
	file = binary.LittleEndian.AppendUint32(append(file, make([]byte, 16)...), 1)
	for _, p := range list {
		frame := p.Bytes()
		for _, n := range []int{1, 2, len(frame), len(frame)} {
			file = binary.LittleEndian.AppendUint32(file, uint32(n))
		}
		file = append(file, frame...)
	}
	path = filepath.Join(t.TempDir(), "some.pcap")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	return path, len(list)
}

// Everything of a capture of plain traffic comes through every NAT, both ways.
func TestReplay(t *testing.T) {
	program := buildProgram(t)
	path, count := writeCapture(t)
	o := smokeOptions(replayCapture, program)
	o.Capture = path
	r, err := bench.Run(t.Context(), replayCapture, o)
	if err != nil {
		t.Fatal(err)
	}
	checkDevices(t, r, []string{"null", "realmgate", "iptables", "nftables"})
	for _, result := range r.Results {
		if result.Metric == "arrived" && float64(result.Median) != 100 {
			t.Errorf("%s: %v %% of %d packets arrived: %+v", result.DUT, result.Median, count, result)
		}
		if g := result.Gates["translated"]; g.Passed == 0 || g.Failed > 0 {
			t.Errorf("%s: %+v", result.DUT, g)
		}
	}
	if !slices.Contains(r.Notes, fmt.Sprintf("%d packets of 3 flows that 2 hosts began; nothing is skipped", count)) {
		t.Errorf("notes %q", r.Notes)
	}
}

func TestReplayWithoutACapture(t *testing.T) {
	program := buildProgram(t)
	o := smokeOptions(replayCapture, program)
	o.Capture = filepath.Join(t.TempDir(), "none.pcap")
	if _, err := bench.Run(t.Context(), replayCapture, o); err == nil {
		t.Error("a capture that is not there is replayed")
	}
}
