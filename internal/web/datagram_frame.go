package web

import (
	"errors"

	"github.com/realmgate/realmgate/internal/ipv4"
)

var errDatagram = errors.New("the frame holds no UDP datagram")

// parseDatagrams reads a frame, which is several datagrams where the kernel has put them together: each but the last has each
// octets then. The checksum of a single one is completed, as a segment's is.
func parseDatagrams(octets []byte, each int) ([]ipv4.Packet, error) {
	whole, err := ipv4.Parse(octets)
	switch {
	case err != nil:
		return nil, err
	case whole.Protocol() != ipv4.UDP:
		return nil, errDatagram
	}
	list := whole.Divide(each)
	if len(list) == 1 && !list[0].Complete() {
		return nil, errChecksum
	}
	return list, nil
}
