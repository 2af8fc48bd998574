package gateway

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/vishvananda/netlink"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/protect/ban"
	"github.com/realmgate/realmgate/internal/store"
)

// stateDirectory is where a file for each instance keeps what outlives restarts.
const stateDirectory = "/var/lib/realmgate"

const bansBucket = "bans"

// bans are the bans in force, in the kernel and on the disk.
type bans struct {
	mutex sync.Mutex // guards what follows
	list  ban.List
	store *store.Store
	late  bool // the kernel lacks some of the list
}

// keptBan is a ban on the disk; its key is the prefix.
type keptBan struct {
	Since time.Time `json:"since"`
	Until time.Time `json:"until,omitzero"`
	// Reason is missing where an earlier version kept the ban.
	Reason string `json:"reason,omitempty"`
}

// loadBans puts the bans that were kept into force, before any packet is judged, and
// ends those in the kernel that are over or that nobody knows of.
func (g *Gateway) loadBans() (err error) {
	if g.bans.store, err = store.Open(filepath.Join(stateDirectory, g.options.Instance+".db")); err != nil {
		return err
	}
	var kept []ban.Ban
	err = g.bans.store.Each(bansBucket, func(key string, value []byte) error {
		p, err := netip.ParsePrefix(key)
		var k keptBan
		if err = errors.Join(err, json.Unmarshal(value, &k)); err != nil {
			return fmt.Errorf("the ban of %q: %w", key, err)
		}
		kept = append(kept, ban.Ban{Prefix: p, Since: k.Since, Until: k.Until, Reason: k.Reason})
		return nil
	})
	if err != nil {
		return err
	}
	g.bans.list.Load(time.Now(), kept)
	var over []string
	for _, b := range kept {
		if !g.bans.list.Has(b.Prefix) {
			over = append(over, b.Prefix.String())
		}
	}
	if err := g.bans.store.Change(bansBucket, nil, over); err != nil {
		return err
	}
	if err := g.putAllBans(); err != nil {
		return err
	}
	inKernel, err := g.data.Banned()
	if err != nil {
		return err
	}
	return g.data.DeleteBans(slices.DeleteFunc(inKernel, g.bans.list.Has))
}

func (g *Gateway) putAllBans() error {
	all := g.bans.list.All()
	prefixes := make([]netip.Prefix, len(all))
	for i, b := range all {
		prefixes[i] = b.Prefix
	}
	return g.data.PutBans(g.effective(prefixes))
}

// effective is until when the kernel drops packets of prefixes.
func (g *Gateway) effective(prefixes []netip.Prefix) map[netip.Prefix]time.Time {
	until := make(map[netip.Prefix]time.Time, len(prefixes))
	for _, p := range prefixes {
		until[p], _ = g.bans.list.Effective(p)
	}
	return until
}

// AddBans implements api.Gateway.
func (g *Gateway) AddBans(r api.BanRequest) (api.BanChange, error) {
	order := banOrder{prefixes: r.Prefixes, reason: "manual"}
	if r.Seconds > 0 {
		order.until = time.Now().Add(time.Duration(r.Seconds * float64(time.Second)))
	}
	n, err := g.ban(order)
	return api.BanChange{Prefixes: n}, err
}

// banOrder says whom to ban.
type banOrder struct {
	prefixes []netip.Prefix
	until    time.Time // zero: for ever
	reason   string
	longer   bool // a ban of the same prefix that lasts longer stays
}

// ban bans prefixes, all of them or, with an error, none, and returns how many. The disk
// comes first: what is answered outlives a crash.
func (g *Gateway) ban(o banOrder) (int, error) {
	never, err := g.neverBan()
	if err != nil {
		return 0, err
	}
	g.bans.mutex.Lock()
	defer g.bans.mutex.Unlock()
	made, err := g.bans.list.Plan(time.Now(), o.until, o.reason, o.prefixes, never)
	if err != nil {
		return 0, err
	}
	if o.longer {
		made = slices.DeleteFunc(made, g.bans.list.Outlasts)
	}
	put := make(map[string][]byte, len(made))
	changed := make([]netip.Prefix, 0, len(made))
	for _, b := range made {
		text, err := json.Marshal(keptBan{b.Since, b.Until, b.Reason})
		if err != nil {
			return 0, fmt.Errorf("write the ban of %s: %w", b.Prefix, err)
		}
		put[b.Prefix.String()] = text
		changed = append(changed, b.Prefix)
	}
	if err := g.bans.store.Change(bansBucket, put, nil); err != nil {
		return 0, err
	}
	g.bans.list.Put(made)
	if err := g.data.PutBans(g.effective(g.bans.list.Under(changed))); err != nil {
		g.bans.late = true
		return 0, fmt.Errorf("the bans are kept, and those that the kernel refused are tried again: %w", err)
	}
	if len(made) > 0 {
		g.log.Info("banned", "first", made[0].Prefix, "prefixes", len(made), "until", o.until, "reason", o.reason)
	}
	return len(made), nil
}

// RemoveBans implements api.Gateway.
func (g *Gateway) RemoveBans(r api.BanRequest) (api.BanChange, error) {
	g.bans.mutex.Lock()
	defer g.bans.mutex.Unlock()
	keys := make([]string, 0, len(r.Prefixes))
	for _, p := range r.Prefixes {
		keys = append(keys, p.Masked().String())
	}
	// The disk first, and also what the list has no more: a repeated command mends.
	if err := g.bans.store.Change(bansBucket, nil, keys); err != nil {
		return api.BanChange{}, err
	}
	removed := g.bans.list.Remove(r.Prefixes)
	if err := g.lift(removed); err != nil {
		return api.BanChange{}, err
	}
	g.log.Info("banned no more", "prefixes", len(removed))
	return api.BanChange{Prefixes: len(removed)}, nil
}

// lift ends bans in the kernel that the list has no more; those of narrower prefixes
// may end earlier now.
func (g *Gateway) lift(removed []netip.Prefix) error {
	return errors.Join(g.data.DeleteBans(removed), g.data.PutBans(g.effective(g.bans.list.Under(removed))))
}

// followBans removes the bans that are over, whose packets the kernel has let pass since
// then, and puts those that it refused.
func (g *Gateway) followBans() error {
	g.bans.mutex.Lock()
	defer g.bans.mutex.Unlock()
	var late error
	if g.bans.late {
		late = g.putAllBans()
		g.bans.late = late != nil
	}
	over := g.bans.list.Expire(time.Now())
	if len(over) == 0 {
		return late
	}
	keys := make([]string, 0, len(over))
	for _, p := range over {
		keys = append(keys, p.String())
	}
	return errors.Join(late, g.bans.store.Change(bansBucket, nil, keys), g.lift(over))
}

// Bans implements api.Gateway.
func (g *Gateway) Bans() ([]api.Ban, error) {
	g.bans.mutex.Lock()
	defer g.bans.mutex.Unlock()
	list := []api.Ban{}
	for _, b := range g.bans.list.All() {
		list = append(list, api.Ban{Prefix: b.Prefix, Since: b.Since, Until: b.Until, Reason: b.Reason})
	}
	return list, nil
}

// neverBan returns what says why a prefix must not be banned: without those that it
// names the gateway would be cut off.
func (g *Gateway) neverBan() (func(netip.Prefix) error, error) {
	reasons := map[netip.Prefix]string{}
	single := func(a netip.Addr, why string) {
		if a = a.Unmap(); a.Is4() {
			reasons[netip.PrefixFrom(a, 32)] = why
		}
	}
	v := g.view.Load()
	c := v.config
	for _, p := range c.NeverBan {
		reasons[p] = "never_ban has it"
	}
	for _, s := range c.DNS.Upstream {
		single(s.Addr(), "it is an upstream name server")
	}
	for _, a := range g.outbound {
		single(a, "it is an outbound address of the gateway")
	}
	for _, a := range c.Pool.Addresses {
		single(a, "it is an address of the pool")
	}
	for _, a := range v.static.addresses {
		single(a, "dnat answers for it")
	}
	for _, h := range c.Hosts {
		single(h.Address, "it is a private host's: a ban is of the remote end")
	}
	if own := g.own.Load(); own != nil {
		for a := range *own {
			single(a, "it is the gateway's own address")
		}
	}
	routes, err := netlink.RouteList(nil, netlink.FAMILY_V4)
	if err != nil && !errors.Is(err, netlink.ErrDumpInterrupted) { // most of them are there even so
		return nil, fmt.Errorf("list the next hops, which cannot be banned: %w", err)
	}
	for _, r := range routes {
		hops := []net.IP{r.Gw}
		for _, h := range r.MultiPath {
			hops = append(hops, h.Gw)
		}
		for _, hop := range hops {
			if a, ok := netip.AddrFromSlice(hop); ok {
				single(a, "it is a next hop of the gateway")
			}
		}
	}
	allowed := namedIn(c, v.lists).allowed(c)
	return func(p netip.Prefix) error {
		if err := allowed(p); err != nil {
			return err
		}
		for kept, why := range reasons {
			if kept.Overlaps(p) {
				return fmt.Errorf("%s: %s", kept, why)
			}
		}
		return nil
	}, nil
}
