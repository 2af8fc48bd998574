package pact

import "net/netip"

// quotas count pacts and resting addresses, and hold a host and an edge to their bounds.
type quotas struct {
	perHost, perEdge int
	hosts            map[netip.Addr]int // what a host asked for
	edges            map[string]int
}

// refuse tells whether one more may not be.
func (q *quotas) refuse(host netip.Addr, peer string, asked bool) error {
	switch {
	case asked && q.hosts[host] >= q.perHost:
		return ErrHostQuota
	case q.edges[peer] >= q.perEdge:
		return ErrEdgeQuota
	}
	return nil
}

// count adds to what a host and an edge have; by -1, it takes off.
func (q *quotas) count(p Pact, asked bool, by int) {
	if asked {
		add(q.hosts, p.Host, by)
	}
	add(q.edges, p.Peers, by)
}

func add[K comparable](counts map[K]int, k K, by int) {
	if counts[k] += by; counts[k] <= 0 {
		delete(counts, k)
	}
}
