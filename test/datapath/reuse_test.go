package datapath

import (
	"fmt"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/packets"
)

// A claim that the daemon hears of lets it give the slot to the next at once, while
// the packet that claimed is still on its way: it must pass all the same.
func TestSlotLentAgainAtOnce(t *testing.T) {
	const lent = 4000 // as many sessions as the table holds
	g := newGateway(t)
	claims := must(g.data.Claims())(t)
	defer claims.Close()
	offered := make(chan error, 1)
	offer := func(n int) error {
		return g.data.Offer(datapath.Reservation{
			ID: uint64(n) << 32, Address: pool1, Protocol: model.TCP, Port: uint16(n), Host: hostA, HostPort: 80,
			Expires: datapath.Now().Add(time.Hour), Claims: 1,
		})
	}
	go func() {
		offered <- offer(1)
		for n := 1; n <= lent; n++ {
			_, err := claims.Next()
			if err == nil {
				_, err = g.data.Withdraw(uint64(n) << 32)
			}
			if err == nil {
				err = offer(n + 1)
			}
			offered <- err
		}
	}()
	g.atOnce(1, func(int) error {
		for n := 1; n <= lent; n++ {
			if err := <-offered; err != nil {
				return err
			}
			first := tcp(endpoint(client.Addr(), uint16(20000+n)), endpoint(pool1, uint16(n)), packets.SYN)
			action, _, err := g.data.Inject(true, g.public, outside(first).Bytes())
			if err != nil {
				return err
			}
			if action == datapath.Drop {
				return fmt.Errorf("the first packet to offer %d was dropped", n)
			}
		}
		return nil
	})
}
