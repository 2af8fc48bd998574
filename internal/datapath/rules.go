package datapath

import (
	"fmt"

	"github.com/vishvananda/netlink"
)

// followRules tells the programs whether a routing rule looks at sources: then
// a new flow's route is asked for before the translation as well as after it.
func (d *attachment) followRules() error {
	rules, err := netlink.RuleList(netlink.FAMILY_V4)
	blind := uint8(1)
	for _, rule := range rules {
		if rule.Src != nil {
			blind = 0
		}
	}
	if err != nil {
		blind = 0
	}
	d.changeControl(func(c *bpfControl) { c.SourceBlind = blind })
	if err != nil {
		return fmt.Errorf("list the routing rules: %w", err)
	}
	return nil
}
