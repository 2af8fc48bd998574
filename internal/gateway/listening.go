package gateway

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/realmgate/realmgate/internal/model"
)

// listening adds the ports at which sockets listen by a table of the kernel as
// /proc/net/tcp: the second column is the local address and port, the fourth the state.
func listening(table io.Reader, ports map[uint16]bool) error {
	const listens = "0A"
	lines := bufio.NewScanner(table)
	for lines.Scan() {
		columns := strings.Fields(lines.Text())
		if len(columns) < 4 || columns[3] != listens {
			continue
		}
		_, hex, _ := strings.Cut(columns[1], ":")
		port, err := strconv.ParseUint(hex, 16, 16)
		if err != nil {
			return fmt.Errorf("read the sockets that listen: %q is no address", columns[1])
		}
		ports[uint16(port)] = true
	}
	return lines.Err()
}

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
		err = listening(table, ports)
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
