package gateway

import (
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/nameserver"
	"github.com/realmgate/realmgate/internal/pool"
)

// Status implements api.Gateway.
func (g *Gateway) Status() (api.Status, error) {
	v := g.view.Load()
	usage, err := g.data.Usage()
	if err != nil {
		return api.Status{}, err
	}
	counters, err := g.data.Counters()
	if err != nil {
		return api.Status{}, err
	}
	g.mutex.Lock()
	p := g.pool.Statistics()
	g.mutex.Unlock()
	status := api.Status{
		Instance: g.options.Instance, Version: api.Version(), PID: os.Getpid(), Config: g.options.ConfigFile,
		Started: g.started, Adopted: g.data.Adopted(), Generation: v.generation,
		Sessions:  api.Gauge{Used: usage.Sessions, Capacity: usage.Capacity},
		Mappings:  api.Gauge{Used: usage.Mappings, Capacity: uint64(len(g.outbound)) * 3 * 65535},
		Half:      api.Gauge{Used: uint64(p.Offered), Capacity: usage.Reservations},
		Addresses: api.Gauge{Used: uint64(p.Addresses - p.Free), Capacity: uint64(p.Addresses)},
		Bytes:     usage.Bytes, Lent: p.Offers, Claimed: p.Claimed, Expired: p.Expired,
		DNS: dnsCounts(g.public.Statistics(), g.private.Statistics()),
	}
	for _, i := range g.data.Interfaces() {
		status.Interfaces = append(status.Interfaces, api.Interface{Name: i.Name, Side: i.Side, Mode: string(i.Mode), Redirect: i.Redirect})
	}
	for _, reason := range g.data.Reasons() {
		if n := counters[reason]; n > 0 {
			status.Reasons = append(status.Reasons, api.ReasonCount{Reason: reason, Packets: n})
		}
	}
	status.Remedies = remedies(counters, usage, p, status.DNS)
	return status, nil
}

func dnsCounts(public, private nameserver.Statistics) api.DNS {
	return api.DNS{
		Queries:  public.QueriesUDP + public.QueriesTCP + private.QueriesUDP + private.QueriesTCP,
		Answered: public.Allocated, Refused: public.Refused + public.Limited + private.Refused,
		Truncated: public.Truncated, Exhausted: public.Exhausted,
		Forwarded: private.CacheMisses, UpstreamFailed: private.UpstreamFailed,
	}
}

// advice is what to do about a reason that should not be seen.
var advice = map[model.Reason]string{
	"drop_partial_checksum":   "a sender leaves checksums to its interface; on the hosts behind virtual links run: ethtool -K IFACE tx off",
	"drop_session_table_full": "the session table is full and refuses new sessions: raise capacity and restart",
	"drop_session_index_full": "an index bucket of the session table is full: raise capacity and restart",
	"drop_mapping_index_full": "an index bucket of the mapping table is full: raise capacity and restart",
	"drop_no_port":            "an outbound address has no port left for its hosts: add outbound.addresses and restart",
	"drop_no_route":           "packets have no route: look at ip route, and at which interfaces are listed as public and private",
	"drop_busy":               "packets waited too long for each other; should this go on, report it",
	"drop_internal":           "the data plane met what cannot be; please report it with the output of realmgate drops",
}

func remedies(counters map[model.Reason]uint64, usage datapath.Usage, p pool.Statistics, dns api.DNS) []string {
	list := []string{}
	for _, reason := range slices.Sorted(maps.Keys(advice)) {
		if n := counters[reason]; n > 0 {
			list = append(list, fmt.Sprintf("%s (%d): %s", reason, n, advice[reason]))
		}
	}
	if usage.Sessions >= usage.Capacity {
		list = append(list, "the session table is full: raise capacity and restart")
	}
	if p.Exhausted > 0 {
		list = append(list, fmt.Sprintf("the pool had no address %d times: add pool.addresses, or shorten pool.again", p.Exhausted))
	}
	if dns.UpstreamFailed > 0 {
		list = append(list, fmt.Sprintf("no upstream name server answered %d times: check dns.upstream", dns.UpstreamFailed))
	}
	return list
}
