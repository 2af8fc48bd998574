package registry

import (
	"slices"
	"strings"

	"github.com/realmgate/realmgate/internal/model"
)

// Lookup returns what the name stands for: by itself, or by a wildcard.
func (r *Registry) Lookup(n model.Name) (Entry, bool) {
	if e, ok := r.entries[n]; ok {
		return e, true
	}
	if e, ok := r.registered.find(n); ok {
		return e, true
	}
	return r.wildcard(n)
}

// wildcard finds the entry of the wildcard that answers for a name (RFC 4592 §3.3.1): the one right below the closest
// encloser, the longest existing name above. Names that exist have none, whatever they exist for. Other than there,
// none answers for a name of which a label in its place begins with an underscore: those are of protocols
// (_acme-challenge, selector._domainkey), which take any answer for theirs.
func (r *Registry) wildcard(n model.Name) (Entry, bool) {
	if r.Exists(n) {
		return Entry{}, false
	}
	underscore := false
	for n != "" {
		underscore = underscore || strings.HasPrefix(string(n), "_")
		n = parent(n)
		if !r.Exists(n) {
			continue
		}
		if e, ok := r.entries[n.Wildcard()]; ok && !underscore {
			e.Encloser = n
			return e, true
		}
		break
	}
	return Entry{}, false
}

// Exists reports whether the name is there by itself, whatever wildcards answer for: it stands for something, is a
// zone, or has names below it (RFC 8020 §2). Without a record it is to be answered with NODATA, not NXDOMAIN.
func (r *Registry) Exists(n model.Name) bool {
	if _, ok := r.entries[n]; ok || r.inner[n] || r.others[n] {
		return true
	}
	_, ok := r.registered.find(n)
	return ok
}

// Zone returns the most specific zone that the name is in, label by label.
func (r *Registry) Zone(n model.Name) (model.Name, bool) {
	for ; n != ""; n = parent(n) {
		if r.zones[n] {
			return n, true
		}
	}
	return "", false
}

// Above reports whether there are names below n, wildcards among them, that open something else than n does: a
// question for n may be only on the way to those (RFC 9156).
func (r *Registry) Above(n model.Name) bool {
	if r.above[n] {
		return true
	}
	entry, known := r.entries[n]
	if !known {
		entry, known = r.registered.find(n)
	}
	return known && r.registered.above(n, entry)
}

// Lent returns the names of a zone, and of no zone below it, that open something by a pool address, wildcards among
// them, in alphabetical order.
func (r *Registry) Lent(zone model.Name) []model.Name { return r.opening(zone, false) }

// WebNames are as Lent, of those that open something by a web address.
func (r *Registry) WebNames(zone model.Name) []model.Name { return r.opening(zone, true) }

func (r *Registry) opening(zone model.Name, web bool) (names []model.Name) {
	for name, e := range r.entries {
		if in, _ := r.Zone(name); in == zone && e.Service != nil && e.Service.Web == web {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
