package settings

import (
	"cmp"
	"net/netip"
	"slices"
	"time"

	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/schema"
)

const mostExcepts = 64

// Outbound configures translation for hosts that open sessions themselves.
type Outbound struct {
	Addresses  []netip.Addr // at most 64; with no Interfaces either: the first public interface's first IPv4 address
	Interfaces []string     // whose global IPv4 addresses are outbound, too
	Slots      int          // 1 to 64: how many there may be without a restart; 0: two more than at the start, 3 at least
	Filtering  model.Filtering
	Except     []netip.Prefix // at most 64: destinations that are reached without NAT; none holds another
	Quarantine time.Duration  // 0s to 3600s: how long a freed port rests with endpoint-independent filtering (RFC 6888 REQ-8)
}

// Follows reports whether outbound addresses are those of interfaces, which may change.
func (o *Outbound) Follows() bool { return len(o.Addresses) == 0 || len(o.Interfaces) > 0 }

// Interfaces are those of the gateway, as the file lists them.
type Interfaces interface {
	Private(name string) bool
	Outside() string // the first one there
}

// Draft is `outbound`.
type Draft struct {
	outbound   *Outbound
	uses       schema.Uses
	interfaces Interfaces
	addresses  schema.Externals
	excepts    []schema.At[netip.Prefix]
}

// New makes a draft whose values go to outbound, and which says in uses what addresses are for.
func New(outbound *Outbound, uses schema.Uses, interfaces Interfaces) *Draft {
	*outbound = Outbound{
		Filtering:  model.AddressDependent,
		Quarantine: 120 * time.Second, // RFC 6888 REQ-8
	}
	return &Draft{outbound: outbound, uses: uses, interfaces: interfaces}
}

// Keys implements schema.Draft.
func (d *Draft) Keys() []schema.Key {
	o := d.outbound
	return []schema.Key{schema.Section(
		"outbound",
		d.addresses.Key("addresses", schema.OutboundAddresses, model.MaxOutbound, 0).Otherwise("the first public interface's address"),
		schema.One("slots", &o.Slots, schema.Number(1, model.MaxOutbound)).Otherwise("2 more than addresses at the start, at least 3"),
		schema.One("filtering", &o.Filtering,
			schema.Choice(model.EndpointIndependent, model.AddressDependent, model.AddressAndPortDependent)),
		schema.One("quarantine", &o.Quarantine, schema.Duration(0, time.Hour)),
		schema.Many("except", &d.excepts, schema.Network(), 0).Most(mostExcepts),
	)}
}

// Claim implements schema.Claimer.
func (d *Draft) Claim(faults *schema.Faults) {
	o := d.outbound
	var interfaces []schema.At[string]
	o.Addresses, interfaces = d.addresses.Claim(faults, d.uses, d.interfaces.Private)
	o.Interfaces = schema.Values(interfaces)
}

// Finish implements schema.Draft.
func (d *Draft) Finish(faults *schema.Faults) {
	o := d.outbound
	if n := len(o.Addresses); o.Slots > 0 && n > o.Slots {
		faults.Add(d.addresses.Line(), "%s: %d addresses, but outbound.slots is %d", schema.OutboundAddresses, n, o.Slots)
	}
	d.finishExcepts()
}

// Follows is that of what is read.
func (d *Draft) Follows() bool { return d.outbound.Follows() }

// Followed reports whether the addresses of an interface are outbound; without the key that is the first public one.
func (d *Draft) Followed(name string) bool {
	if d.addresses.Line() == 0 {
		return d.interfaces.Outside() == name
	}
	return slices.Contains(d.outbound.Interfaces, name)
}

// finishExcepts leaves out what another prefix of the list holds: each costs a new session a
// comparison.
func (d *Draft) finishExcepts() {
	sorted := slices.Clone(d.excepts)
	slices.SortStableFunc(sorted, func(a, b schema.At[netip.Prefix]) int { return cmp.Compare(a.Value.Bits(), b.Value.Bits()) })
	for _, e := range sorted {
		held := func(wider netip.Prefix) bool { return wider.Contains(e.Value.Addr()) }
		if !slices.ContainsFunc(d.outbound.Except, held) {
			d.outbound.Except = append(d.outbound.Except, e.Value)
		}
	}
}
