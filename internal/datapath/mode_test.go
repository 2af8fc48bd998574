package datapath

import (
	"testing"

	"github.com/realmgate/realmgate/internal/netdev"
)

// Bits of enum netdev_xdp_act (include/uapi/linux/netdev.h).
const (
	runs  netdev.Features = 1
	takes netdev.Features = 4
)

// ice, i40e, bnxt and virtio_net say that they take redirected frames only once a program is attached.
func TestChooseOfCards(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		wanted   Mode
		kind     string
		features netdev.Features
		known    bool
		want     Mode
		confirms bool // where a program is attached, it keeps it
	}{
		"a card that takes frames later":  {Auto, physical, runs, true, XDP, false},
		"a card that takes frames at all": {Auto, physical, runs | takes, true, XDP, true},
		"a card, said":                    {XDP, physical, runs, true, XDP, false},
		"a card without XDP":              {XDP, physical, 0, true, TCX, false},
		"a card of an old kernel":         {Auto, physical, 0, false, XDP, true},
		"a veth":                          {Auto, "veth", runs | takes, true, TCX, true},
		"a veth, said":                    {XDP, "veth", runs | takes, true, XDP, true},
		"a veth that loses frames, said":  {XDP, "veth", runs, true, TCX, false},
		"a card, kept from XDP":           {TCX, physical, runs | takes, true, TCX, true},
	} {
		mode, why := choose(c.wanted, c.kind, false, c.features, c.known)
		if mode != c.want || why == "" {
			t.Errorf("%s: %s, %q, want %s", name, mode, why, c.want)
		}
		if err := confirm(c.features, c.known); (err == nil) != c.confirms {
			t.Errorf("%s: once attached: %v", name, err)
		}
	}
}
