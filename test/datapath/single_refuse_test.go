package datapath

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/vishvananda/netlink"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/nf"
	"github.com/realmgate/realmgate/internal/nf/filter"
)

// Where packets have no Ethernet header no flow could be read from what leaves: that is refused, and nothing stays attached.
func TestSingleFlowsOfABareInterface(t *testing.T) {
	t.Parallel()
	g := newSingle(t, datapath.TCX)
	g.in(func() error {
		attributes := netlink.NewLinkAttrs()
		attributes.Name = "tun0"
		return netlink.LinkAdd(&netlink.Tuntap{LinkAttrs: attributes, Mode: netlink.TUNTAP_MODE_TUN})
	})
	g.options.Public = []string{"tun0"}
	g.in(func() error {
		if err := g.data.Close(true); err != nil {
			return err
		}
		var err error
		if g.data, err = datapath.Open(g.options); err != nil {
			return err
		}
		if err := g.data.Attach(); err == nil || !strings.Contains(err.Error(), "tun0: it has no Ethernet header") {
			t.Errorf("attached: %v", err)
		}
		return nil
	})
}

// A ban comes before chains: it ends an open flow in both directions, and lets nothing begin.
func TestSingleFlowsOfABanned(t *testing.T) {
	t.Parallel()
	atBothHooks(t, func(t *testing.T, mode datapath.Mode) {
		g := newSingle(t, mode)
		g.echoes(g.namespace, machine22)
		g.chained([]nf.Rule{{Direction: model.In}}, []nf.Step{{Number: 1, Function: filter.Filter{}}})
		open := must(g.connects(g.outside, machine22, patience))(t)
		defer open.Close()
		check(t, heard(open, patience))
		g.ban(time.Now().Add(time.Hour), netip.PrefixFrom(router, 32))
		if err := heard(open, brief); err == nil {
			t.Error("the open flow of who is banned goes on")
		}
		if c, err := g.connects(g.outside, machine22, brief); err == nil {
			_ = c.Close()
			t.Error("who is banned gets in")
		}
		if g.counters()["drop_banned"] == 0 || g.seen(1) != 1 {
			t.Errorf("%d drops, and the chain was asked %d times", g.counters()["drop_banned"], g.seen(1))
		}
	})
}
