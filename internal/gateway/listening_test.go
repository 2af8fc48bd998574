package gateway

import (
	"maps"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/realmgate/realmgate/internal/model"
)

// Of the kernel's table the sockets that listen count, of either family, and none that is
// connected.
func TestListening(t *testing.T) {
	ports := map[uint16]bool{}
	err := listening(strings.NewReader(`  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt
   0: 00000000:0016 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1
   1: 0100007F:1F90 0100007F:9C40 01 00000000:00000000 00:00000000 00000000     0        0 2
   2: 00000000000000000000000000000000:01BB 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000
`), ports)
	if got := slices.Sorted(maps.Keys(ports)); err != nil || !slices.Equal(got, []uint16{22, 443}) {
		t.Errorf("%v, %v", got, err)
	}
	if err := listening(strings.NewReader("0: 00000000:XX 0 0A\n"), ports); err == nil {
		t.Error("what is no port was read")
	}
}

// A trap at the port of a program of ours is told.
func TestTrapAtAPortOfOurs(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	port := uint16(l.Addr().(*net.TCPAddr).Port)
	traps := model.PortSet{TCP: []model.Ports{{First: port, Last: port}}}
	if list := trapRemedies(traps); len(list) != 1 || !strings.Contains(list[0], "which is the honeypot's") {
		t.Errorf("%q", list)
	}
	if list := trapRemedies(model.PortSet{UDP: traps.TCP}); len(list) != 0 {
		t.Errorf("of UDP: %q", list)
	}
}
