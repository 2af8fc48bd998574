package settings

import (
	"net/netip"
	"time"

	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/schema"
)

const maxQuota = 1_000_000

// Pool configures the circular pool.
type Pool struct {
	Addresses          []netip.Addr // up to model.MaxPoolAddresses, expanded, in the order of the file; with no Interfaces one at least
	Interfaces         []string     // whose outbound addresses are of the pool, too
	Order              Order
	ReservationTimeout time.Duration // 500ms to 60s
	Rest               time.Duration // 1s to 24h
	Refuse             bool
	Wait               time.Duration // 0s to 5s
	Bands              []Band        // by load, the least first
	Reserve            float64       // 0 to 0.5: the share of the addresses that is kept for newcomers
	Quotas             Quotas
}

// Quotas bounds allocations: Client to Total count allocations per second,
// HalfOpen and HalfOpenPerHost count standing reservations, and 0 means no limit. ClientSessions
// counts the open sessions that one client has with one binding, those of TCP apart.
type Quotas struct {
	Client, Resolver, Host, Service, Total int
	HalfOpen, HalfOpenPerHost              int
	ClientSessions                         int // 1 to 65535
}

// Order says which free pool address is lent next.
type Order uint8

// The orders in which addresses are lent.
const (
	OrderRandom Order = iota
	OrderCircular
)

// String returns the word used in the file.
func (o Order) String() string { return schema.Word(int(o), "order", "random", "circular") }

// Interfaces are those of the gateway, as the file lists them.
type Interfaces interface{ Private(name string) bool }

// Outbound says of which interfaces the addresses are outbound.
type Outbound interface{ Followed(name string) bool }

// Draft is `pool`.
type Draft struct {
	pool       *Pool
	uses       schema.Uses
	interfaces Interfaces
	outbound   Outbound
	addresses  schema.Externals
	followed   []schema.At[string]
	bands      []*bandEntry
}

// New makes a draft whose values go to pool, and which says in uses what addresses are for.
func New(pool *Pool, uses schema.Uses, interfaces Interfaces, outbound Outbound) *Draft {
	*pool = Pool{
		Order:              OrderRandom,
		ReservationTimeout: 2 * time.Second,
		// Longer than clients keep an address, whatever its TTL: Firefox for 660 s, behind a resolver that adds a minute.
		Rest:   730 * time.Second,
		Refuse: true,
		Wait:   500 * time.Millisecond,
		Bands:  []Band{{0.5, 0.2, 0.3}, {0.75, 0.3, 0.4}}, Reserve: 0.1,
		Quotas: Quotas{Client: 100, Resolver: 1000, Host: 1000, Service: 1000, ClientSessions: 256},
	}
	return &Draft{pool: pool, uses: uses, interfaces: interfaces, outbound: outbound}
}

// Keys implements schema.Draft.
func (d *Draft) Keys() []schema.Key {
	p := d.pool
	return []schema.Key{schema.Section(
		"pool",
		d.addresses.Key("addresses", schema.PoolAddresses, model.MaxPoolAddresses, 1).Must(),
		schema.One("order", &p.Order, schema.Choice(OrderRandom, OrderCircular)),
		schema.One("reservation_timeout", &p.ReservationTimeout, schema.Duration(500*time.Millisecond, time.Minute)),
		schema.One("rest", &p.Rest, schema.Duration(time.Second, 24*time.Hour)),
		schema.One("refuse", &p.Refuse, schema.Boolean()),
		schema.One("wait", &p.Wait, schema.Duration(0, 5*time.Second)),
		schema.ListOf("bands", &d.bands, (*bandEntry).keys).Otherwise("0.5: 0.2 and 0.3; 0.75: 0.3 and 0.4"),
		schema.One("reserve", &p.Reserve, schema.Ratio(0, 0.5)),
		p.Quotas.key(),
	)}
}

// Claim implements schema.Claimer.
func (d *Draft) Claim(faults *schema.Faults) {
	d.pool.Addresses, d.followed = d.addresses.Claim(faults, d.uses, d.interfaces.Private)
	d.pool.Interfaces = schema.Values(d.followed)
}

// Finish implements schema.Draft. The addresses of an interface are followed as outbound ones are.
func (d *Draft) Finish(faults *schema.Faults) {
	for _, i := range d.followed {
		if !d.outbound.Followed(i.Value) {
			faults.Add(i.Line, "%s: the address of %s is not outbound: list it under outbound.addresses, too, so that services get ports of it", schema.PoolAddresses, i.Value)
		}
	}
	d.finishBands(faults)
}

func (q *Quotas) key() schema.Key {
	quota := schema.Number(0, maxQuota)
	return schema.Section("quotas",
		schema.One("client", &q.Client, quota),
		schema.One("resolver", &q.Resolver, quota),
		schema.One("host", &q.Host, quota),
		schema.One("service", &q.Service, quota),
		schema.One("total", &q.Total, quota),
		schema.One("half_open", &q.HalfOpen, quota),
		schema.One("half_open_per_host", &q.HalfOpenPerHost, quota),
		schema.One("client_sessions", &q.ClientSessions, schema.Number(1, 65535)),
	)
}
