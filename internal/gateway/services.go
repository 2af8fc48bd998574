package gateway

import (
	"context"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/lifecycle"
)

type (
	serviceList = lifecycle.List[*draft, *api.Status]
	change      = lifecycle.Change
)

// newServices is all that the daemon consists of, in the order in which a configuration goes through it; it settles and
// stops the other way round. What a draft needs of others they have put there before: lists and places before the policy
// that is compiled of them, the data plane before all that is in it. The data plane is attached when nothing else can
// fail, and then the view is in force.
func (g *Gateway) newServices() serviceList {
	return serviceList{
		{Name: "configuration", Prepare: g.prepareConfiguration, Run: endless(g.runHangups)},
		{Name: "lists", Prepare: g.prepareLists, Run: g.lists.Run},
		{Name: "places", Prepare: g.preparePlaces},
		{Name: "routes", Prepare: g.prepareHops, Report: g.reportHops},
		{Name: "data plane", Fixed: fixedTables, Prepare: g.prepareData, Run: g.plane.Run, Report: g.plane.Report, Stop: g.plane.Stop},
		{Name: "store", Prepare: g.prepareStore, Stop: g.closeStore},
		{Name: "machine", Prepare: g.prepareMachine, Run: g.followMachine},
		{Name: "backends", Prepare: g.prepareBackends, Run: g.backends.Run, Report: g.backends.Report},
		{Name: "policy", Prepare: g.preparePolicy},
		{Name: "counts", Prepare: g.prepareCounts, Report: g.reportChains},
		{Name: "advice", Prepare: g.prepareAdvice, Run: g.runAdvice, Report: g.reportAdvice},
		{Name: "pool", Fixed: fixedPool, Prepare: g.preparePool, Run: g.runPool, Report: g.reportPool},
		{Name: "name servers", Fixed: fixedNames, Prepare: g.prepareNames, Report: g.reportNames},
		{Name: "public name server", Run: g.servePublic},
		{Name: "private name server", Run: g.servePrivate},
		{Name: "questions", Run: g.runQuestions},
		{Name: "events", Prepare: g.prepareEvents, Report: g.reportEvents},
		{Name: "outbound addresses", Prepare: g.prepareOutbound, Run: endless(g.runOutbound), Report: g.reportOutbound},
		{Name: "honeypot", Run: g.honeypot.Run, Report: g.honeypot.Report},
		{Name: "bans", Prepare: g.prepareBans, Run: g.runBans, Report: g.reportBans},
		{Name: "watches", Prepare: g.prepareWatches, Run: g.watches.Run, Report: g.watches.Report},
		{Name: "captures", Prepare: g.prepareCaptures, Run: g.runCaptures},
		{Name: "diagnosis", Run: g.diagnosis.Run, Report: g.diagnosis.Report},
		{Name: "attachment", Prepare: g.prepareAttachment},
		{Name: "control socket", Run: g.runControl},
		{Name: "view", Prepare: g.prepareView},
	}
}

// endless is a service that ends with ctx alone.
func endless(run func(context.Context)) func(context.Context) error {
	return func(ctx context.Context) error {
		run(ctx)
		return nil
	}
}
