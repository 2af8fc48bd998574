package settings

import (
	"fmt"
	"net/netip"
	"slices"

	"go4.org/netipx"

	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/nf"
	"github.com/realmgate/realmgate/internal/schema"
)

// mostDnat bounds the public addresses that a chain with dnat names.
const mostDnat = 4096

// DnatAddresses are the public addresses that a match's To names.
func (m Match) DnatAddresses() (list []netip.Addr) {
	for a := m.To.Addr(); m.To.Contains(a); a = a.Next() {
		list = append(list, a)
	}
	return list
}

// finishDnat checks the chains that say where flows go, and where that is.
func (d *ChainsDraft) finishDnat(faults *schema.Faults) {
	dnat := map[netip.Addr]schema.Use{}
	for i, c := range d.entries {
		if d.sends(c, map[string]bool{}) {
			(*d.chains)[i].Dnat = true
			d.checkDnatMatches(faults, c, fmt.Sprintf("chains[%d]", i), dnat)
		}
	}
	for i, c := range d.entries {
		known := 0
		for j, f := range c.functions {
			if !f.sends() {
				continue
			}
			path := fmt.Sprintf("chains[%d].functions[%d]", i, j)
			if known++; known > 1 {
				faults.Add(f.given.Line, "%s: the chain says already where flows go: one dnat or multipath is enough", path)
			}
			d.checkDnatTarget(faults, f, path, dnat)
		}
	}
}

// Targets are the private hosts that the function sends flows to.
func (f Function) Targets() []netip.Addr {
	if s, sends := f.Settings.(nf.Sender); sends {
		return s.Targets()
	}
	return nil
}

// sends reports whether a chain, or one that it jumps to, says where flows go.
func (d *ChainsDraft) sends(c *chainEntry, seen map[string]bool) bool {
	if seen[c.chain.Name] {
		return false // a circle, which is refused
	}
	seen[c.chain.Name] = true
	return slices.ContainsFunc(c.functions, func(f *functionEntry) bool {
		to := f.jumpsTo()
		return f.sends() || to != "" && slices.ContainsFunc(d.entries, func(other *chainEntry) bool {
			return other.chain.Name == to && d.sends(other, seen)
		})
	})
}

// checkDnatMatches notes the public addresses of the chain.
func (d *ChainsDraft) checkDnatMatches(faults *schema.Faults, c *chainEntry, path string, dnat map[netip.Addr]schema.Use) {
	if len(c.matches) == 0 {
		d.checkDnatMatch(faults, &matchEntry{path: path + ".match"}, c.Line, dnat, 0)
	}
	count := 0
	for _, m := range c.matches {
		count = d.checkDnatMatch(faults, m, c.Line, dnat, count)
	}
}

// checkDnatMatch adds the public addresses of a match to those that the chain has
// before it, and returns how many that makes. line is the chain's.
func (d *ChainsDraft) checkDnatMatch(faults *schema.Faults, c *matchEntry, line int, dnat map[netip.Addr]schema.Use, count int) int {
	m, path := c.match, c.path
	if m.Direction != model.In || !m.To.IsValid() || m.Host != "" || m.Service != "" {
		faults.Add(line, "%s: a chain with dnat or multipath needs direction: in, and to: the public addresses that flows come to", path)
		return count
	}
	count += 1 << (32 - m.To.Bits())
	if count > mostDnat {
		faults.Add(c.toLine, "%s.to: up to %s the chain has %d addresses, at most %d may be public ones of dnat", path, m.To, count, mostDnat)
		return count
	}
	for _, a := range []netip.Addr{m.To.Addr(), netipx.PrefixLastIP(m.To)} {
		if err := schema.CheckUnicast(a); err != nil {
			faults.Add(c.toLine, "%s.to: %s", path, err)
			return count
		}
	}
	for _, a := range m.DnatAddresses() {
		if !d.checkDnatAddress(faults, c, a) {
			break // one error says enough
		}
		dnat[a] = schema.Use{Key: path + ".to", Line: c.toLine}
	}
	return count
}

// checkDnatAddress reports whether dnat may have the address, as far as that can be said
// before outbound.addresses has its default.
func (d *ChainsDraft) checkDnatAddress(faults *schema.Faults, c *matchEntry, a netip.Addr) bool {
	m, path := c.match, c.path
	uses := d.uses[a]
	outbound, shared := d.uses.As(a, schema.OutboundAddresses)
	server, serves := d.uses.As(a, schema.DNSPublic)
	switch {
	case len(uses) == 0:
		return true
	case serves && (shared || d.outbound.Follows()): // the two may be one address then
		if port := d.server.Port(); m.Ports.First <= port && port <= m.Ports.Last {
			faults.Add(c.portLine, "%s.port: %d of %s is where the name server listens, %s", path, port, a, server)
			return false
		}
	case !shared:
		faults.Add(c.toLine, "%s.to: %s is already used by %s: dnat has outbound addresses, or its own", path, a, uses[0])
		return false
	}
	if shared && (m.Ports == (model.Ports{}) || m.Protocol != model.TCP && m.Protocol != model.UDP) {
		faults.Add(c.toLine, "%s: %s is %s, which hosts share: name protocol (tcp or udp) and port", path, a, outbound)
		return false
	}
	return true
}

// checkDnatTarget sees to it that flows are sent to hosts inside.
func (d *ChainsDraft) checkDnatTarget(faults *schema.Faults, f *functionEntry, path string, dnat map[netip.Addr]schema.Use) {
	var lines []schema.At[string]
	if placed, has := f.own.(nf.TargetLines); has {
		lines = placed.TargetLines(&f.given)
	}
	for i, to := range f.function.Targets() {
		before, used := dnat[to]
		if uses := d.uses[to]; !used && len(uses) > 0 && !d.hosts.Has(to) {
			before, used = uses[0], true
		}
		if used {
			faults.Add(lines[i].Line, "%s.%s: %s is %s: name a private host", path, lines[i].Value, to, before)
		}
	}
}
