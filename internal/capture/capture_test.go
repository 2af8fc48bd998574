package capture

import (
	"testing"

	"github.com/realmgate/realmgate/internal/api"
)

// What waits is bounded by its bytes, cut to what is wanted, and never of others.
func TestCapturedPacketsWait(t *testing.T) {
	const snap, sent = 1000, 20_000
	c := newCapture(api.CaptureRequest{Chain: "web", Snap: snap})
	c.functions = map[uint32]string{7: "mirror"}
	p := api.Packet{Length: 1500, Data: make([]byte, 1500)}
	c.put(8, p)
	if len(c.ready) > 0 || c.waiting != nil {
		t.Errorf("a packet of another function waits: %+v", c.waiting)
	}
	for range sent {
		c.put(7, p)
	}
	if len(c.ready) != 1 || len(c.waiting) != captureBuffer/(snap+packetBytes) || uint64(len(c.waiting))+c.lost != sent {
		t.Errorf("of %d packets %d wait and %d are lost", sent, len(c.waiting), c.lost)
	}
	if got := c.waiting[0]; got.Function != "mirror" || len(got.Data) != snap || got.Length != 1500 {
		t.Errorf("%+v", got)
	}
	c.functions = nil // nothing to ask the data plane for
	lost := c.lost
	if packets, err := c.take(nil); err != nil || len(packets) == 0 || packets[0].Lost != lost || c.waiting != nil || c.bytes != 0 {
		t.Errorf("took %d packets, %v; %d wait of %d bytes", len(packets), err, len(c.waiting), c.bytes)
	}
}
