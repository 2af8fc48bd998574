package machine

import (
	"maps"
	"net/netip"
	"strings"
	"testing"
)

// Of the kernel's table the sockets that listen count, of either family, and none that is
// connected.
func TestListening(t *testing.T) {
	ports := map[netip.AddrPort]bool{}
	inodes := ""
	note := func(s socket) { ports[s.at], inodes = true, inodes+s.inode }
	err := waiting(strings.NewReader(`  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt
   0: 00000000:0016 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1
   1: 0100007F:1F90 0100007F:9C40 01 00000000:00000000 00:00000000 00000000     0        0 2
   2: 00000000000000000000000000000000:01BB 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000
   3: 0000000000000000FFFF00000100007F:0050 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000
`), "0A", note)
	want := map[netip.AddrPort]bool{}
	for _, at := range []string{"0.0.0.0:22", "[::]:443", "127.0.0.1:80"} {
		want[netip.MustParseAddrPort(at)] = true
	}
	if err != nil || !maps.Equal(ports, want) || inodes != "1" {
		t.Errorf("%v, of inodes %q, %v", ports, inodes, err)
	}
	for _, bad := range []string{"00000000:XX", "0000:0016", "0000000G:0016", "00000000"} {
		if err := waiting(strings.NewReader("0: "+bad+" 0 0A\n"), "0A", note); err == nil {
			t.Errorf("%s was read", bad)
		}
	}
}
