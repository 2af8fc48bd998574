package advice

import (
	"fmt"
	"maps"
	"slices"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/model"
)

// byReason is what to do about a reason that should not be seen.
var byReason = map[model.Reason]string{
	model.ReasonDropSessionTableFull: "the session table is full for one side, or both, and refuses new sessions: who has most is named below; where all are meant, raise capacity and restart",
	model.ReasonDropSessionIndexFull: "an index bucket of the session table is full: raise capacity and restart",
	model.ReasonDropMappingIndexFull: "an index bucket of the mapping table is full: raise capacity and restart",
	model.ReasonDropNoPort:           "an outbound address has no port left for its hosts: add outbound.addresses and reload",
	model.ReasonDropHostSessions:     "a host inside has as many sessions as it may, which is less where few are left: realmgate sessions lists them; if they are meant, raise limits.host_sessions",
	model.ReasonDropHostPorts:        "a host inside has as many ports as it may, which is less where few are left: realmgate sessions lists its sessions; if they are meant, raise limits.host_ports",
	model.ReasonDropHostRate:         "a host inside opens sessions faster than it may: realmgate sessions lists them; if they are meant, raise limits.host_rate",
	model.ReasonDropRemoteSessions:   "a remote address has as many sessions as it may, which is less where few are left: realmgate sessions lists them, realmgate ban add stops it; if they are meant, raise limits.remote_sessions",
	model.ReasonDropRemoteRate:       "a remote address opens sessions faster than it may: realmgate ban add stops it; if they are meant, raise limits.remote_rate",
	model.ReasonDropBindingSessions:  "a service has as many sessions as it may: realmgate sessions lists them; if they are meant, raise limits.binding_sessions",
	model.ReasonDropMappingSessions:  "as many sessions from outside use a host's port as may: realmgate sessions lists them; if they are meant, raise limits.mapping_sessions",
	model.ReasonDropClientLimit:      "a client has as many sessions with a service as it may: raise pool.quotas.client_sessions if many are behind its address; realmgate sessions lists them",
	model.ReasonDropNoRoute:          "packets have no route: look at ip route, and at which interfaces are listed as public and private",
	model.ReasonDropBusy:             "packets waited too long for each other; should this go on, report it",
	model.ReasonDropInternal:         "the data plane met what cannot be; please report it with the output of realmgate drops",
}

// warnings says what to do about what is wrong now, or was minutes ago.
func warnings(t totals, sessions api.Gauge) []string {
	list := []string{}
	for _, reason := range slices.Sorted(maps.Keys(byReason)) {
		if n := t.reasons[reason]; n > 0 {
			list = append(list, fmt.Sprintf("%s (%d lately): %s", reason, n, byReason[reason]))
		}
	}
	if sessions.Used >= sessions.Capacity {
		list = append(list, "the session table is full: who has most is named where sessions are refused; where all are meant, raise capacity and restart")
	}
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
