package collect

import (
	"context"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/realmgate/realmgate/internal/client"
	"github.com/realmgate/realmgate/internal/config"
	"github.com/realmgate/realmgate/internal/doctor"
	"github.com/realmgate/realmgate/internal/lab/bench/method"
)

// Options say what to look at.
type Options struct {
	File      string           // of the configuration; empty: there is none to look at
	Document  *config.Document // nil where the file is no good
	Error     error            // why
	Doubts    func(context.Context, *config.Document) doctor.Doubts
	Gateway   client.Options
	Available int64  // bytes of memory
	Name      string // of a service, to take and connect to; empty: none is
}

// Facts gathers them.
func Facts(ctx context.Context, o Options) *doctor.Facts {
	f := &doctor.Facts{Now: time.Now(), Configuration: doctor.Configuration{File: o.File}, Kernel: kernel(), Clock: clock(), Disk: disk("/var/lib/realmgate")}
	var waits sync.WaitGroup
	waits.Go(func() { f.Gateway, f.Interfaces = gateway(ctx, o.Gateway) })
	if o.Document == nil {
		if o.Error != nil {
			f.Configuration.Error = o.Error.Error()
		}
		waits.Wait()
		f.Interfaces = nil // of a configuration that nobody knows
		f.RoundTrip = doctor.RoundTrip{Name: o.Name, Untried: "there is no configuration that could be read"}
		return f
	}
	c := o.Document.Config
	f.Single = c.Interfaces.Single()
	f.Memory = doctor.Memory{Needed: method.Advise(c.Capacity).Realmgate.LeastBytes, Available: o.Available, Capacity: c.Capacity}
	if c.API.Certificate != "" {
		f.Certificate = certificate(c.API.Certificate, c.API.Key)
	}
	waits.Go(func() { f.Doubts = o.Doubts(ctx, o.Document) })
	waits.Go(func() { f.Routes = routes(c.Interfaces.Public) })
	waits.Go(func() { f.Upstream, f.Delegations = names(ctx, c) })
	waits.Wait()
	f.Interfaces = interfaces(c, f.Interfaces)
	f.Pool = poolWays(ctx, c, o.Gateway, f.Gateway.AtWork)
	if o.Name != "" {
		f.RoundTrip = roundTrip(ctx, o.Name, c, o.Gateway)
	}
	return f
}

// names asks the upstream name servers, and by the first that answers who serves our zones.
func names(ctx context.Context, c *config.Config) (servers []doctor.Server, delegations []doctor.Delegation) {
	servers = make([]doctor.Server, len(c.DNS.Upstream))
	var waits sync.WaitGroup
	for n, at := range c.DNS.Upstream {
		waits.Go(func() { servers[n] = upstream(ctx, at) })
	}
	waits.Wait()
	n := slices.IndexFunc(servers, func(s doctor.Server) bool { return s.UDP == "" })
	if n < 0 {
		return servers, nil
	}
	var to netip.Addr
	if a := c.DNS.Public.Addr(); !a.IsUnspecified() && !a.IsPrivate() { // else another router has the address that the world knows
		to = a
	}
	for _, z := range c.Realm.Zones {
		delegations = append(delegations, delegation(ctx, servers[n].Address, z.Name.String(), c.Realm.Nameserver.String(), to))
	}
	return servers, delegations
}
