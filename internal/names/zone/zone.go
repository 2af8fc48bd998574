package zone

import (
	"iter"

	"github.com/miekg/dns"

	"github.com/realmgate/realmgate/internal/model"
)

// Zone is what a zone file says.
type Zone struct {
	name    model.Name
	file    string
	soa     *dns.SOA
	nodes   map[string]*Node
	records []record // in the file's order, without the SOA
}

type record struct {
	rr   dns.RR
	line int
}

// Node is a name that exists: it has records, or names below it.
type Node struct {
	sets map[uint16][]dns.RR
}

func (n *Node) add(r record) {
	if n.sets == nil {
		n.sets = map[uint16][]dns.RR{}
	}
	h := r.rr.Header()
	set := append(n.sets[h.Rrtype], r.rr)
	n.sets[h.Rrtype] = set
	// One TTL for the whole set: the least (RFC 2181 §5.2).
	least := h.Ttl
	for _, rr := range set {
		least = min(least, rr.Header().Ttl)
	}
	for _, rr := range set {
		rr.Header().Ttl = least
	}
}

// Set returns the records of a type. They are not to be changed.
func (n *Node) Set(rrtype uint16) []dns.RR {
	if n == nil {
		return nil
	}
	return n.sets[rrtype]
}

// Empty reports a name that has no records, only names below it.
func (n *Node) Empty() bool { return n == nil || len(n.sets) == 0 }

// Name returns the zone's name.
func (z *Zone) Name() model.Name {
	if z == nil {
		return ""
	}
	return z.name
}

// SOA returns the file's SOA, or nil. It is not to be changed.
func (z *Zone) SOA() *dns.SOA {
	if z == nil {
		return nil
	}
	return z.soa
}

// Node returns what is at a name, or nil where it does not exist in the file.
func (z *Zone) Node(name string) *Node {
	if z == nil {
		return nil
	}
	return z.nodes[name]
}

// Cut returns the delegation that a name is at or below, the one closest to the
// apex, and its NS records. The apex is none.
func (z *Zone) Cut(name string) (cut string, servers []dns.RR, ok bool) {
	if z == nil {
		return "", nil, false
	}
	for name != string(z.name) && name != "." {
		if set := z.nodes[name].Set(dns.TypeNS); len(set) > 0 {
			cut, servers, ok = name, set, true
		}
		name = parent(name)
	}
	return cut, servers, ok
}

// Addresses returns the static addresses of a name: glue or ordinary records.
func (z *Zone) Addresses(name string) []dns.RR {
	node := z.Node(name)
	a, aaaa := node.Set(dns.TypeA), node.Set(dns.TypeAAAA)
	return append(a[:len(a):len(a)], aaaa...)
}

// Records returns all records but the SOA, in the file's order. They are not to
// be changed.
func (z *Zone) Records() iter.Seq[dns.RR] {
	return func(yield func(dns.RR) bool) {
		if z == nil {
			return
		}
		for _, r := range z.records {
			if !yield(r.rr) {
				return
			}
		}
	}
}

// parent is a name without its first label; the root's is the root.
func parent(name string) string {
	next, end := dns.NextLabel(name, 0)
	if end {
		return "."
	}
	return name[next:]
}
