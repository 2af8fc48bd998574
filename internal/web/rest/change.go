package rest

import (
	"log/slog"
	"net/netip"
	"time"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/lifecycle"
)

// Wanted is what a configuration has of the ports that may rest.
type Wanted struct {
	Web   []datapath.Service // ports that the web has
	TTL   time.Duration      // that its names are answered for
	Whole []netip.Addr       // addresses of which others get every port
	Ports []datapath.Service // single ports that others get
	Log   *slog.Logger
}

// Open are the ports that rest at a start, and the change that keeps them.
func Open(s Store, w Wanted) (Ports, lifecycle.Change, error) {
	ports, err := Read(s, w.Web, time.Now())
	if err != nil {
		w.Log.Warn("ports that rest not read", "error", err)
	}
	c, err := ports.change(s, w)
	return ports, c, err
}

// Prepare are those that rest when another configuration comes into force: what leaves the web rests for the TTL of before.
func (p Ports) Prepare(s Store, before, w Wanted) (Ports, lifecycle.Change, error) {
	next := p.Next(before.Web, w.Web, before.TTL, time.Now())
	c, err := next.change(s, w)
	return next, c, err
}

// change refuses that what rests is something else already, but for the pool, which waits.
func (p Ports) change(s Store, w Wanted) (lifecycle.Change, error) {
	if err := p.Refuse(w.Whole, w.Ports, time.Now()); err != nil {
		return lifecycle.Change{}, err
	}
	return lifecycle.Change{Settle: func() {
		if err := p.Write(s, w.Web, w.TTL); err != nil {
			w.Log.Error("ports of the web not kept", "hint", "after a reboot they may be others' too soon", "error", err)
		}
	}}, nil
}
