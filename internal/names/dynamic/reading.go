package dynamic

import (
	"net/netip"
	"slices"
	"time"

	"github.com/realmgate/realmgate/internal/model"
)

// read takes all that a source says now.
func (t *table) read(e *entry, said contents, now time.Time) (c changes) {
	for _, h := range e.hosts {
		if l := said.of(h.Address); l != nil || !said.partly {
			t.look(h, l, now, &c)
		}
	}
	if len(t.at) == 0 {
		t.at, e.hosts = make(map[netip.Addr]*Host, len(said.leases)), make(map[model.Name]*Host, len(said.leases))
	}
	var fresh []*Lease
	for i := range said.leases {
		l := &said.leases[i]
		if h := t.at[l.Address]; l.Name != "" && !l.over(now) && (h == nil || h.entry != e) {
			fresh = append(fresh, l)
		}
	}
	// Who is first by its address has a name that two want: whoever asks again gets the same answer.
	slices.SortFunc(fresh, func(x, y *Lease) int { return x.Address.Compare(y.Address) })
	for _, l := range fresh {
		t.admit(e, l, &c)
	}
	return c
}

// look sees what has become of a host, of whose address a source says l, nil for nothing.
func (t *table) look(h *Host, l *Lease, now time.Time, c *changes) {
	switch {
	case l != nil && l.over(now): // the source says so itself
		t.remove(h, c)
	case l == nil && !h.missing:
		h.missing, c.again = true, true
	case l == nil, l.Client != h.Client, renamed(h, l):
		t.remove(h, c)
	default:
		h.missing = false
		if !l.Ends.Equal(h.Ends) {
			h.Ends = l.Ends
			c.renewed = append(c.renewed, h)
		}
	}
}

// renamed reports that a host says that it has another name now. One without a name keeps its own: a server takes a name from
// the lease that had it when another client says the same.
func renamed(h *Host, l *Lease) bool {
	if l.Name == "" {
		return false
	}
	name, err := nameIn(h.entry.Zone, l.Name)
	return err != nil || name != h.Name
}

// admit registers a host that is new, or says why not.
func (t *table) admit(e *entry, l *Lease, c *changes) {
	name, err := nameIn(e.Zone, l.Name)
	if err == nil {
		t.follow(e, name, l, c)
		err = t.add(e, name, *l, c)
	}
	if err != nil {
		c.refuse(*l, err)
	}
}

// follow has a client that has another address by now leave the old one.
func (t *table) follow(e *entry, name model.Name, l *Lease, c *changes) {
	h := t.named(name)
	if h == nil || h.entry != e || h.Client != l.Client || h.Address == l.Address {
		return
	}
	if _, err := t.may(e, name, l.Address, h); err != nil {
		return
	}
	if h.missing || !h.Ends.IsZero() && (l.Ends.IsZero() || l.Ends.After(h.Ends)) {
		t.remove(h, c)
	}
}
