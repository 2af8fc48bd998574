package ability

import (
	"net/netip"
	"slices"
	"time"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/model"
)

// Weak is a host that can less than others at its web address, which promises no more than it can.
type Weak struct {
	Host         model.Name
	Address      netip.Addr // of the web
	Can          datapath.WebPromise
	Unknown      bool // it has never answered
	Smaller      bool // its MSS is below that of others
	NoSACK       bool // which others have
	NoTimestamps bool // no timestamps, which others have
}

// Shared is two hosts at one web address of which one has a certificate for a name of the other.
type Shared struct {
	Host    model.Name // whose certificate it is
	Other   model.Name
	Name    model.Name // of Other, as the configuration has it
	Address netip.Addr // of the web
}

// judgement is what follows of what is known.
type judgement struct {
	promises map[netip.Addr]datapath.WebPromise
	at       map[model.Name]netip.Addr
	weak     []Weak   // in the order of the configuration
	shared   []Shared // likewise, each two hosts once
}

// ethernetMSS is what a client outside has at most as a rule: that a host has more holds nobody back.
const ethernetMSS = 1460

// judge says what follows. It moves hosts, as place does.
func (k *known) judge(now time.Time) (j judgement) {
	covers := k.covers()
	conflicts := map[model.Name][]model.Name{}
	for _, c := range covers {
		conflicts[c.of], conflicts[c.other] = append(conflicts[c.of], c.other), append(conflicts[c.other], c.of)
	}
	names := make([]model.Name, len(k.hosts))
	for i := range k.hosts {
		names[i] = k.hosts[i].Name
	}
	k.at = place(names, conflicts, k.can(now), k.addresses, k.at)
	j.at = k.at
	for _, c := range covers {
		if len(k.addresses) > 0 && j.at[c.of] == j.at[c.other] {
			j.shared = append(j.shared, Shared{c.of, c.other, c.name, j.at[c.of]})
		}
	}
	j.promises = make(map[netip.Addr]datapath.WebPromise, len(k.addresses))
	for _, a := range k.addresses {
		j.promises[a] = k.promise(a, now)
		j.weak = append(j.weak, k.weakAt(a, now)...)
	}
	return j
}

// can is what hosts can by which some hold others back, of those that were asked.
func (k *known) can(now time.Time) map[model.Name]datapath.WebPromise {
	can := map[model.Name]datapath.WebPromise{}
	for i := range k.hosts {
		if host := k.hosts[i].Name; len(k.endpoints[host]) > 0 && k.isJudged(&k.hosts[i], now) {
			p := k.promises(host, now)
			p.MSS = min(p.MSS, ethernetMSS)
			can[host] = p
		}
	}
	return can
}

// Bounds of pairs of hosts of which one has a certificate for the other: of one host, and of all.
const (
	mostCovered = 64
	mostCovers  = 4096
)

// covers are what certificates cover of others, in the order of the configuration, each two hosts once.
func (k *known) covers() (list []cover) {
	answerers, seen := newAnswerers(k.hosts), map[[2]model.Name]bool{}
	for i := range k.hosts {
		host, most := k.hosts[i].Name, min(len(list)+mostCovered, mostCovers)
		for _, to := range k.endpoints[host] {
			for _, name := range k.of[to].names {
				for c := range answerers.covered(host, name) {
					if len(list) == most {
						break
					}
					if pair := [2]model.Name{c.of, c.other}; !seen[pair] {
						seen[pair], seen[[2]model.Name{c.other, c.of}] = true, true
						list = append(list, c)
					}
				}
			}
		}
	}
	return list
}

// promise is the least of the hosts at a web address, and of those who were found there and could less than was promised.
func (k *known) promise(a netip.Addr, now time.Time) datapath.WebPromise {
	all, some := datapath.WebPromise{}, false
	add := func(p datapath.WebPromise) {
		if some {
			p = least(all, p)
		}
		all, some = p, true
	}
	for i := range k.hosts {
		for _, to := range k.endpoints[k.hosts[i].Name] {
			if r := k.of[to]; r.counts(now) && (k.at[k.hosts[i].Name] == a || now.Before(r.via[a])) {
				add(r.promise(now))
			}
		}
	}
	if !some {
		return datapath.LeastWebPromise
	}
	return all
}

// weakAt are the hosts at a web address that hold others back.
func (k *known) weakAt(a netip.Addr, now time.Time) (list []Weak) {
	best := datapath.WebPromise{}
	for i := range k.hosts {
		host := k.hosts[i].Name
		if k.at[host] != a || !k.isJudged(&k.hosts[i], now) {
			continue
		}
		w := Weak{Host: host, Address: a, Can: k.promises(host, now), Unknown: k.hosts[i].Guest == nil && !k.isKnown(host)}
		if !w.Unknown {
			best.MSS = max(best.MSS, min(w.Can.MSS, ethernetMSS))
			best.SACK, best.Timestamps = best.SACK || w.Can.SACK, best.Timestamps || w.Can.Timestamps
		}
		list = append(list, w)
	}
	for i := range list {
		w := &list[i]
		w.Smaller, w.NoSACK, w.NoTimestamps = w.Can.MSS < best.MSS, best.SACK && !w.Can.SACK, best.Timestamps && !w.Can.Timestamps
	}
	return slices.DeleteFunc(list, func(w Weak) bool { return !w.Smaller && !w.NoSACK && !w.NoTimestamps })
}

// weakHosts are those that hold others back.
func (j *judgement) weakHosts() map[model.Name]bool {
	weak := make(map[model.Name]bool, len(j.weak))
	for _, w := range j.weak {
		weak[w.Host] = true
	}
	return weak
}

// promises is the least of a host's endpoints that count.
func (k *known) promises(host model.Name, now time.Time) (p datapath.WebPromise) {
	p, some := datapath.LeastWebPromise, false
	for _, to := range k.endpoints[host] {
		switch r := k.of[to]; {
		case !r.counts(now):
		case some:
			p = least(p, r.promise(now))
		default:
			p, some = r.promise(now), true
		}
	}
	return p
}

// isJudged reports whether enough is known of a host to say what it can.
func (k *known) isJudged(h *Host, now time.Time) bool {
	if h.Guest == nil {
		return k.isAsked(h.Name)
	}
	return slices.ContainsFunc(k.endpoints[h.Name], func(to netip.AddrPort) bool { return k.of[to].counts(now) })
}

// isAsked reports whether a host has endpoints that have been asked, or done less than was promised.
func (k *known) isAsked(host model.Name) bool {
	return slices.ContainsFunc(k.endpoints[host], func(to netip.AddrPort) bool { return !k.of[to].asked.IsZero() || !k.of[to].until.IsZero() })
}

// isSure reports whether a host will hardly move: there is no other web address, it was at its own before, or certificates are
// known, its own and, as far as they answer, those of all others, which may cover its names.
func (k *known) isSure(host model.Name, allAsked bool) bool {
	return len(k.addresses) == 1 || k.placed[host] == k.at[host] || allAsked && k.isKnown(host)
}

// areAsked reports whether all endpoints have been asked.
func (k *known) areAsked() bool {
	for _, r := range k.of {
		if r.asked.IsZero() {
			return false
		}
	}
	return true
}

// isKnown reports whether all of a host's endpoints have answered once.
func (k *known) isKnown(host model.Name) bool {
	return !slices.ContainsFunc(k.endpoints[host], func(to netip.AddrPort) bool { return !k.of[to].known })
}
