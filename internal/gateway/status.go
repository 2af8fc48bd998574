package gateway

import (
	"fmt"
	"maps"
	"net/netip"
	"os"
	"slices"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/names/allocation"
	"github.com/realmgate/realmgate/internal/nameserver"
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
	chains, err := g.data.ChainMemory()
	if err != nil {
		return api.Status{}, err
	}
	p, asked := g.pool.Statistics()
	status := api.Status{
		Instance: g.options.Instance, Version: api.Version(), PID: os.Getpid(), Config: g.options.ConfigFile,
		Started: g.started, Adopted: g.data.Adopted(), Generation: v.generation,
		Sessions:  api.Gauge{Used: usage.Sessions, Capacity: usage.Capacity},
		Mappings:  api.Gauge{Used: usage.Mappings, Capacity: uint64(len(g.outbound.Addresses())) * 3 * 65535},
		Half:      api.Gauge{Used: uint64(p.Offered), Capacity: usage.Reservations},
		Addresses: api.Gauge{Used: uint64(p.Addresses - p.Free), Capacity: uint64(p.Addresses)},
		Refusals:  usage.Refusals, TentativeEnded: usage.TentativeEnded, KnownFull: usage.KnownFull,
		SubscribersFull: usage.SubscribersFull, RemotesFull: usage.RemotesFull,
		Places: api.Gauge{Used: uint64(p.Bindings), Capacity: uint64(p.Services)},
		Bytes:  usage.Bytes, ChainBytes: chains, Lent: p.Offers + p.Repeats, Claimed: p.Claimed, Expired: p.Expired, Moved: p.Moved,
		DNS: dnsCounts(g.public.Statistics(), g.private.Statistics(), asked, counters["answered_question"]+counters["answered_slowed"]),
	}
	if status.Outbound, err = g.outboundStatus(); err != nil {
		return api.Status{}, err
	}
	status.Slots = g.data.MostOutbound()
	for _, i := range g.data.Interfaces() {
		status.Interfaces = append(status.Interfaces, api.Interface{Name: i.Name, Side: i.Side, Mode: string(i.Mode), Why: i.Why, Redirect: i.Redirect})
	}
	for _, reason := range g.data.Reasons() {
		if n := counters[reason]; n > 0 {
			status.Reasons = append(status.Reasons, api.ReasonCount{Reason: reason, Packets: n})
		}
	}
	for i, ch := range v.config.Chains {
		if changes := v.changes(i); len(changes) > 0 {
			status.ChangedChains = append(status.ChangedChains, api.ChangedChain{Chain: ch.Name, Changes: changes})
		}
	}
	now := g.recent.since(datapath.Now(), totals{counters, asked.Exhausted, asked.Distrusted + asked.Shared, status.DNS.UpstreamFailed, usage.KnownFull, usage.SubscribersFull + usage.RemotesFull})
	status.Remedies = remedies(now, usage, g.ownInPool(v))
	status.Remedies = append(status.Remedies, g.partRemedies(v)...)
	status.Remedies = append(status.Remedies, g.takers(now)...)
	status.Remedies = append(status.Remedies, g.questioners(datapath.Now())...)
	status.Remedies = append(status.Remedies, trapRemedies(v.config.Protection.Honeypot.Ports)...)
	status.Remedies = append(status.Remedies, g.bans.remedies()...)
	status.Remedies = append(status.Remedies, g.pool.Remedies()...)
	status.Remedies = append(status.Remedies, g.watches.remedies()...)
	status.Remedies = append(status.Remedies, g.eventRemedies()...)
	status.Remedies = append(status.Remedies, v.balances.remedies()...)
	status.Remedies = append(status.Remedies, g.outbound.Remedies()...)
	status.Remedies = append(status.Remedies, g.hopRemedies()...)
	status.Remedies = append(status.Remedies, g.blackHoleRemedies(v)...)
	status.Remedies = append(status.Remedies, g.doubts.remedies(g.data.Interfaces())...)
	return status, nil
}

// noteTotals remembers what has been counted so far.
func (g *Gateway) noteTotals() error {
	counters, err := g.data.Counters()
	if err != nil {
		return fmt.Errorf("read the counters: %w", err)
	}
	usage, err := g.data.Usage()
	if err != nil {
		return err
	}
	_, asked := g.pool.Statistics()
	g.recent.note(datapath.Now(), totals{counters, asked.Exhausted, asked.Distrusted + asked.Shared, g.private.Statistics().UpstreamFailed, usage.KnownFull, usage.SubscribersFull + usage.RemotesFull})
	return nil
}

// dnsCounts counts those that the data plane has told to come by TCP, too.
func dnsCounts(public, private nameserver.Statistics, asked allocation.Counts, told uint64) api.DNS {
	return api.DNS{
		Queries:  public.QueriesUDP + public.QueriesTCP + private.QueriesUDP + private.QueriesTCP + told,
		Answered: public.Allocated, Refused: public.Refused + public.Limited + private.Refused,
		Distrusted: asked.Distrusted + asked.Shared, Truncated: public.Truncated + told, Exhausted: asked.Exhausted,
		Forwarded: private.CacheMisses, UpstreamFailed: private.UpstreamFailed, WaitLimited: private.WaitLimited,
		RebindBlocked: private.RebindBlocked, OwnRemoved: private.OwnRemoved, NotInside: private.NotInside,
	}
}

// advice is what to do about a reason that should not be seen.
var advice = map[model.Reason]string{
	"drop_session_table_full": "the session table is full for one side, or both, and refuses new sessions: who has most is named below; where all are meant, raise capacity and restart",
	"drop_session_index_full": "an index bucket of the session table is full: raise capacity and restart",
	"drop_mapping_index_full": "an index bucket of the mapping table is full: raise capacity and restart",
	"drop_no_port":            "an outbound address has no port left for its hosts: add outbound.addresses and reload",
	"drop_host_sessions":      "a host inside has as many sessions as it may, which is less where few are left: realmgate sessions lists them; if they are meant, raise limits.host_sessions",
	"drop_host_ports":         "a host inside has as many ports as it may, which is less where few are left: realmgate sessions lists its sessions; if they are meant, raise limits.host_ports",
	"drop_host_rate":          "a host inside opens sessions faster than it may: realmgate sessions lists them; if they are meant, raise limits.host_rate",
	"drop_remote_sessions":    "a remote address has as many sessions as it may, which is less where few are left: realmgate sessions lists them, realmgate ban add stops it; if they are meant, raise limits.remote_sessions",
	"drop_remote_rate":        "a remote address opens sessions faster than it may: realmgate ban add stops it; if they are meant, raise limits.remote_rate",
	"drop_binding_sessions":   "a service has as many sessions as it may: realmgate sessions lists them; if they are meant, raise limits.binding_sessions",
	"drop_mapping_sessions":   "as many sessions from outside use a host's port as may: realmgate sessions lists them; if they are meant, raise limits.mapping_sessions",
	"drop_client_limit":       "a client has as many sessions with a service as it may: raise pool.quotas.client_sessions if many are behind its address; realmgate sessions lists them",
	"drop_no_route":           "packets have no route: look at ip route, and at which interfaces are listed as public and private",
	"drop_busy":               "packets waited too long for each other; should this go on, report it",
	"drop_internal":           "the data plane met what cannot be; please report it with the output of realmgate drops",
}

// remedies says what to do about what is wrong now, or was minutes ago.
func remedies(t totals, usage datapath.Usage, own []netip.Addr) []string {
	list := []string{}
	for _, reason := range slices.Sorted(maps.Keys(advice)) {
		if n := t.reasons[reason]; n > 0 {
			list = append(list, fmt.Sprintf("%s (%d lately): %s", reason, n, advice[reason]))
		}
	}
	if usage.Sessions >= usage.Capacity {
		list = append(list, "the session table is full: who has most is named where sessions are refused; where all are meant, raise capacity and restart")
	}
	list = append(list, ownRemedies(own)...)
	if t.exhausted > 0 {
		list = append(list, fmt.Sprintf("the pool had no address %d times lately: add pool.addresses, or shorten pool.rest; realmgate pool says which names hold what", t.exhausted))
	}
	if t.distrusted > 0 {
		list = append(list, fmt.Sprintf("the pool was too full for the reputation of who asked %d times lately: "+
			"add pool.addresses, and find out who asks for names and sends nothing", t.distrusted))
	}
	if t.uncounted > 0 {
		list = append(list, fmt.Sprintf("%d sessions lately were counted with nobody, as the tables of hosts and of remote addresses were full: "+
			"no limit holds for who opened them; raise capacity and restart", t.uncounted))
	}
	if t.knownFull > 0 {
		list = append(list, fmt.Sprintf("the table of known clients was full %d times lately, and those have to ask the name for each connection: "+
			"raise capacity and restart", t.knownFull))
	}
	if t.upstreamFailed > 0 {
		list = append(list, fmt.Sprintf("no upstream name server answered %d times lately: check dns.upstream", t.upstreamFailed))
	}
	return list
}
