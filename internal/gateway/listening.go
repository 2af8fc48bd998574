package gateway

import (
	"fmt"
	"net/netip"
	"os"

	"github.com/realmgate/realmgate/internal/model"
)

// trapRemedies says at which ports of the honeypot programs of the gateway listen: who
// wants something of them is banned.
func trapRemedies(traps model.PortSet) (list []string) {
	if traps.Empty() {
		return nil
	}
	ports := map[uint16]bool{}
	for _, path := range []string{"/proc/thread-self/net/tcp", "/proc/thread-self/net/tcp6"} {
		table, err := os.Open(path)
		if err != nil {
			continue // a kernel without IPv6
		}
		err = waiting(table, "0A", func(at netip.AddrPort) { ports[at.Port()] = true })
		_ = table.Close() // only read: nothing can be lost
		if err != nil {
			return []string{err.Error()}
		}
	}
	for port := range 1 << 16 {
		if ports[uint16(port)] && traps.Has(model.TCP, uint16(port)) {
			list = append(list, fmt.Sprintf("a program of the gateway listens at tcp port %d, which is the honeypot's: who connects from outside is banned", port))
		}
	}
	return list
}
