package netns

import (
	"errors"
	"fmt"

	"github.com/realmgate/realmgate/internal/netdev"
)

// setOffload turns an interface's receive offload and transmit checksum
// offload on or off. Without the latter the kernel also stops handing over
// segments larger than the MTU.
func (l *links) setOffload(ifname string, gro, txChecksum bool) error {
	err := l.Do(func() error {
		return errors.Join(netdev.SetOffload(ifname, netdev.GRO, gro), netdev.SetOffload(ifname, netdev.TxChecksum, txChecksum))
	})
	if err != nil {
		return fmt.Errorf("set offloads of %s in %s: %w", ifname, l.name, err)
	}
	return nil
}
