package daemon

import (
	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/lifecycle"
)

type (
	serviceList = lifecycle.List[*draft, *api.Status]
	change      = lifecycle.Change
)

// What joins the rooms to each other, by what they are about. They share the gateway's state.
type (
	kernelServices  struct{ *Daemon }
	guardServices   struct{ *Daemon }
	nameServices    struct{ *Daemon }
	machineServices struct{ *Daemon }
	hostServices    struct{ *Daemon }
)

// newServices is all that the daemon consists of, in the order in which a configuration goes through it; it settles and
// stops the other way round. What a draft needs of others they have put there before: lists and geofences before the policy
// that is compiled of them, the data plane before all that is in it. The name servers are below what may wait for a disk
// when it settles: jails, bans and lists. The data plane is attached when nothing else can fail, and then the view is in
// force.
func (g *Daemon) newServices() serviceList {
	kernel, guard, names, machine := kernelServices{g}, guardServices{g}, nameServices{g}, machineServices{g}
	return serviceList{
		{Name: "configuration", Open: g.openConfiguration, Prepare: g.prepareConfiguration},
		{Name: "systemd", Open: noChange, Prepare: machine.prepareSystemd, Run: g.systemd.Run},
		{Name: "lists", Prepare: guard.prepareLists, Run: g.lists.Run, Report: g.lists.Report},
		{Name: "geofences", Prepare: guard.prepareGeofences},
		{Name: "routes", Prepare: machine.prepareHops, Report: g.machine.Report},
		{Name: "data plane", Immutable: immutableTables, Open: kernel.openData, Prepare: kernel.prepareData, Run: g.plane.Run, Report: g.plane.Report, Stop: g.plane.Stop},
		{Name: "store", Open: names.openStore, Stop: names.closeStore},
		{Name: "reloads", Open: g.openReload, Run: g.reload.Run, Report: g.reload.Report, Stop: g.reload.Stop},
		{Name: "access", Open: machine.openAccess, Prepare: machine.prepareAccess, Run: g.access.Run, Stop: g.access.Stop},
		{Name: "web hosts", Open: names.openWebHosts, Prepare: names.prepareWebHosts, Run: g.webHosts.Run, Report: g.webHosts.Report},
		{Name: "web rest", Open: names.openWebRest, Prepare: names.prepareWebRest},
		{Name: "machine", Open: machine.openMachine, Prepare: machine.prepareMachine, Run: machine.followMachine},
		{Name: "dynamic hosts", Open: hostServices{g}.openDynamic, Prepare: hostServices{g}.prepareDynamic, Run: g.dynamic.Run, Report: g.dynamic.Report},
		{Name: "backends", Open: kernel.openBackends, Prepare: kernel.prepareBackends, Run: g.backends.Run, Report: g.backends.Report, Stop: g.backends.Stop},
		{Name: "asked programs", Prepare: kernel.prepareAsked, Run: g.asked.Run, Report: g.asked.Report, Stop: g.asked.Stop},
		{Name: "policy", Open: kernel.openPolicy, Prepare: kernel.preparePolicy},
		{Name: "edges", Prepare: hostServices{g}.prepareEdges, Run: g.edges.Run, Stop: g.edges.Stop},
		{Name: "counts", Open: noChange, Prepare: kernel.prepareCounts, Report: g.chains.Report},
		{Name: "advice", Open: names.openAdvice, Run: g.advice.Run, Report: g.advice.Report},
		{Name: "jails", Prepare: guard.prepareJails, Run: g.jails.Run, Report: g.jails.Report},
		{Name: "events", Open: g.openEvents, Prepare: g.prepareEvents, Report: g.events.Report},
		{Name: "honeypot", Run: g.honeypot.Run, Report: g.honeypot.Report},
		{Name: "bans", Open: guard.openBans, Prepare: guard.prepareBans, Run: g.bans.Run, Report: g.bans.Report},
		{Name: "pool", Immutable: immutablePool, Open: names.openPool, Prepare: names.preparePool, Run: names.runPool, Report: names.reportPool},
		{Name: "log", Open: machine.openLog, Prepare: machine.prepareLog, Run: g.natlog.Run, Report: g.natlog.Report, Stop: g.natlog.Stop},
		{Name: "name servers", Immutable: immutableNames, Open: names.openNames, Prepare: names.prepareNames, Report: names.reportNames},
		{Name: "public name server", Run: names.servePublic},
		{Name: "private name server", Run: names.servePrivate},
		{Name: "questions", Run: names.runQuestions},
		{Name: "web names", Prepare: names.prepareWeb, Run: g.web.Run, Report: g.web.Report},
		{Name: "captures", Open: kernel.openCaptures, Prepare: kernel.prepareCaptures, Run: kernel.runCaptures},
		{Name: "outbound addresses", Open: machine.openOutbound, Prepare: machine.prepareOutbound, Run: lifecycle.Endless(g.outbound.Run), Report: g.outbound.Report},
		{Name: "diagnosis", Run: g.diagnosis.Run, Report: g.diagnosis.Report},
		{Name: "attachment", Open: kernel.attach, Stop: g.plane.Detach},
		{Name: "metrics", Prepare: machine.prepareMetrics},
		{Name: "control socket", Run: g.runControl},
		{Name: "view", Prepare: g.prepareView},
	}
}

// noChange is of a service that has nothing to do at the start.
func noChange(*draft) (change, error) { return change{}, nil }
