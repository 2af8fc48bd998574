package capture

import (
	"context"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/model"
)

// packet is a dropped packet for who captures.
func (d dropped) packet(lost uint64) api.Packet {
	return api.Packet{
		Time: d.Time, Interface: d.Interface, Sent: d.Reason == model.ReasonDropPrivateSource, // which the guard at the way out finds
		Tuple: d.Tuple, Length: d.Length, Data: d.frame, Lost: lost, Comment: string(d.Reason) + "; " + words(d.Drop),
	}
}

// CaptureDrops implements api.CaptureCommands.
func (f *Service) CaptureDrops(ctx context.Context, started func(), visit func([]api.Packet) bool) error {
	drops := make(chan dropped, dropBuffer)
	late := uint64(0) // since the last one that there was room for
	err := f.drops.join(drops, func(d dropped) {
		d.missed += late
		select {
		case drops <- d:
			late = 0
		default:
			late = d.missed + 1
		}
	})
	if err != nil {
		return err
	}
	defer f.drops.leave(drops)
	started()
	lost := uint64(0)
	for {
		select {
		case <-ctx.Done():
			return nil
		case d := <-drops:
			lost += d.missed
			if !visit([]api.Packet{d.packet(lost)}) {
				return nil
			}
		}
	}
}
