package policy

import (
	"errors"
	"net/netip"

	"github.com/realmgate/realmgate/internal/model"
)

// Why a question gets no address. Callers compare with errors.Is.
var (
	ErrClientLimit   = errors.New("client limit reached")
	ErrResolverLimit = errors.New("resolver limit reached")
	ErrHostLimit     = errors.New("host limit reached")
	ErrServiceLimit  = errors.New("service limit reached")
	ErrTotalLimit    = errors.New("total limit reached")
	// ErrReputation: the pool is too full for the asker's reputation.
	ErrReputation = errors.New("reputation too low for the load")
	// ErrReserve: what is left of the pool is kept for others.
	ErrReserve = errors.New("rest of the pool is reserved")
)

// Class is what kind of name is asked for.
type Class uint8

// The classes. A host name takes a whole address, a service name shares one.
const (
	ServiceName Class = iota
	HostName
)

// Asker is who asks for what.
type Asker struct {
	Client   netip.Prefix // where the question comes from; no limit if invalid
	Resolver netip.Addr   // no limit if invalid
	Host     netip.Addr
	Service  model.Name // the name asked for; no limit if empty
	Class    Class
	Verified bool // the source address is proven: TCP, or a valid cookie
}

// Load is how full the pool is.
type Load struct {
	Addresses int
	Free      int // that a service without a place may have
}

// Band says which reputation a service needs for a place when the pool is that full, all from 0 to 1.
type Band struct {
	Load    float64
	Service float64 // of names that share an address
	Host    float64 // of a name that takes a whole one
}

// Options are the limits, in allocations a second; 0 is none.
type Options struct {
	Client, Resolver, Host, Service, Total int
	Bands                                  []Band // by load, the least first
	// Reserve is the share of the pool, in whole addresses, that is kept for verified askers of about the first
	// reputation.
	Reserve float64
	// Open lets unverified askers use the whole pool, for a gateway that
	// verifies nobody: a reserve for verified ones would be lost to all.
	Open bool
}

// Admission admits questions to the pool. The zero value is of no use: call New.
type Admission struct {
	client   *limit[netip.Prefix]
	resolver *limit[netip.Addr]
	host     *limit[netip.Addr]
	service  *limit[model.Name]
	rate     int
	open     bool
	bands    []Band
	reserve  float64
	total    bucket
	records  *table[netip.Addr, record]
	subnets  *table[netip.Prefix, record]
}

// New makes an Admission that has seen nobody. Negative limits are none.
func New(o Options) *Admission {
	return &Admission{
		client:   newLimit[netip.Prefix](o.Client),
		resolver: newLimit[netip.Addr](o.Resolver),
		host:     newLimit[netip.Addr](o.Host),
		service:  newLimit[model.Name](o.Service),
		rate:     o.Total,
		open:     o.Open,
		bands:    o.Bands,
		reserve:  o.Reserve,
		records:  newTable[netip.Addr, record](TableSize),
		subnets:  newTable[netip.Prefix, record](TableSize),
	}
}

// Reconfigure changes the limits; what is known of the parties stays.
func (a *Admission) Reconfigure(o Options) {
	a.client.rate, a.resolver.rate = o.Client, o.Resolver
	a.host.rate, a.service.rate, a.rate = o.Host, o.Service, o.Total
	a.open, a.bands, a.reserve = o.Open, o.Bands, o.Reserve
}

// Admit returns nil and takes the tokens if the asker may have an address, or
// says why not: first by the limits, then by load and reputation, unless the
// service has its place already: its answer takes nothing. A question that a
// standing reservation answers need not be admitted.
func (a *Admission) Admit(now model.Instant, asker Asker, load Load, standing bool) error {
	if err := a.limits(now, &asker); err != nil {
		return err
	}
	if !standing {
		if err := a.band(now, &asker, load); err != nil {
			return err
		}
	}
	if asker.Client.IsValid() {
		a.client.take(now, asker.Client)
	}
	if asker.Resolver.IsValid() {
		a.resolver.take(now, asker.Resolver)
	}
	if asker.Host.IsValid() {
		a.host.take(now, asker.Host)
	}
	if asker.Service != "" {
		a.service.take(now, asker.Service)
	}
	if a.rate > 0 {
		a.total.take(now, a.rate)
	}
	return nil
}

func (a *Admission) limits(now model.Instant, k *Asker) error {
	switch {
	case k.Client.IsValid() && !a.client.ready(now, k.Client):
		return refuse(ErrClientLimit, "admit %s", k.Client)
	case k.Resolver.IsValid() && !a.resolver.ready(now, k.Resolver):
		return refuse(ErrResolverLimit, "admit %s", k.Resolver)
	case k.Host.IsValid() && !a.host.ready(now, k.Host):
		return refuse(ErrHostLimit, "admit to %s", k.Host)
	case k.Service != "" && !a.service.ready(now, k.Service):
		return refuse(ErrServiceLimit, "admit to %s", k.Service)
	case !a.total.ready(now, a.rate):
		return ErrTotalLimit
	}
	return nil
}

// tolerance is what a reputation may be less than the first one to reach the
// reserve: who abandoned one reservation does so again after a minute.
const tolerance = 0.02

func (a *Admission) band(now model.Instant, k *Asker, l Load) error {
	used := l.used()
	load := l.share(used)
	reputation := a.Reputation(now, *k)
	if kept := int(a.reserve * float64(l.Addresses)); kept > 0 && l.Addresses-used < kept {
		if !k.Verified && !a.open || reputation < FirstReputation-tolerance {
			return refuse(ErrReserve, "admit to %s: load %.2f, reputation %.2f", k.Service, load, reputation)
		}
		return nil
	}
	for _, b := range a.bands {
		least := b.Service
		if k.Class == HostName {
			least = b.Host
		}
		if load >= b.Load && reputation < least {
			return refuse(ErrReputation, "admit to %s: load %.2f, reputation %.2f", k.Service, load, reputation)
		}
	}
	return nil
}

// used is how many addresses will be in use with one more: a reserve that the
// asker is about to break is not kept.
func (l Load) used() int { return l.Addresses - l.Free + 1 }

// share is how much of the pool that is, from 0 to 1.
func (l Load) share(used int) float64 {
	if l.Addresses <= 0 {
		return 0
	}
	return min(1, float64(used)/float64(l.Addresses))
}
