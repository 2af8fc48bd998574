package daemon

import (
	"context"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/realmgate/realmgate/internal/access"
	"github.com/realmgate/realmgate/internal/advice"
	"github.com/realmgate/realmgate/internal/ask"
	"github.com/realmgate/realmgate/internal/balance"
	"github.com/realmgate/realmgate/internal/capture"
	"github.com/realmgate/realmgate/internal/chains"
	"github.com/realmgate/realmgate/internal/config"
	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/diagnose"
	"github.com/realmgate/realmgate/internal/edge"
	"github.com/realmgate/realmgate/internal/events"
	"github.com/realmgate/realmgate/internal/flow"
	"github.com/realmgate/realmgate/internal/guard/ban"
	"github.com/realmgate/realmgate/internal/guard/geo"
	"github.com/realmgate/realmgate/internal/guard/honeypot"
	"github.com/realmgate/realmgate/internal/guard/jail"
	"github.com/realmgate/realmgate/internal/guard/lists"
	"github.com/realmgate/realmgate/internal/handover"
	"github.com/realmgate/realmgate/internal/machine"
	"github.com/realmgate/realmgate/internal/metrics"
	"github.com/realmgate/realmgate/internal/names/allocation"
	"github.com/realmgate/realmgate/internal/names/dynamic"
	"github.com/realmgate/realmgate/internal/names/realm"
	"github.com/realmgate/realmgate/internal/names/server"
	"github.com/realmgate/realmgate/internal/natlog"
	"github.com/realmgate/realmgate/internal/outbound"
	"github.com/realmgate/realmgate/internal/plane"
	"github.com/realmgate/realmgate/internal/reload"
	"github.com/realmgate/realmgate/internal/ruleset"
	"github.com/realmgate/realmgate/internal/store"
	"github.com/realmgate/realmgate/internal/stream"
	"github.com/realmgate/realmgate/internal/systemd"
	"github.com/realmgate/realmgate/internal/web"
	"github.com/realmgate/realmgate/internal/web/ability"
	"github.com/realmgate/realmgate/internal/web/rest"
)

// Daemon is a running one.
type Daemon struct {
	options   Options
	log       *slog.Logger
	started   time.Time
	outbound  *outbound.Keeper
	data      *datapath.Datapath
	store     *store.Store // what outlives a restart
	pool      *allocation.Allocator
	names     *server.Service
	web       *web.Service
	webHosts  *ability.Service
	drops     capture.Drops
	plane     *plane.Plane
	advice    *advice.Service
	bans      *ban.Service
	jails     *jail.Service
	honeypot  *honeypot.Service
	backends  *balance.Service
	asked     *ask.Service
	captures  *capture.Service
	chains    *chains.Service
	lists     *lists.Service
	events    events.Hub
	natlog    *natlog.Service
	flows     *flow.Service
	view      atomic.Pointer[view]
	machine   machine.Machine
	sockets   *server.Sockets
	control   net.Listener
	access    *access.Service
	stream    *stream.Hub
	hangups   chan os.Signal
	diagnosis *diagnose.Service
	metrics   *metrics.Service
	dynamic   *dynamic.Service
	edges     *edge.Service
	beside    *realm.Registered // the hosts that it has
	systemd   *systemd.Service

	handover *handover.Service
	leave    context.CancelFunc // ends Run
	services serviceList
	reload   *reload.Service
	changing sync.Mutex // one configuration at a time comes into force
}

func newDaemon(o Options) *Daemon {
	g := &Daemon{
		options: o, log: o.Logger, started: time.Now(),
		hangups: make(chan os.Signal, 1),
		events:  events.Hub{Instance: o.Instance, Log: o.Logger},
	}
	g.bans, g.advice = guardServices{g}.newBans(), nameServices{g}.newAdvice()
	g.plane = plane.New(o.Instance, o.KeepDataplane, o.Logger)
	g.outbound, g.diagnosis, g.metrics = machineServices{g}.newOutbound(), machineServices{g}.newDiagnosis(), machineServices{g}.newMetrics()
	g.lists, g.jails, g.honeypot = guardServices{g}.newLists(), guardServices{g}.newJails(), guardServices{g}.newHoneypot()
	g.backends, g.captures = balance.New(o.Logger), kernelServices{g}.newCaptures()
	g.asked, g.reload, g.handover = kernelServices{g}.newAsked(), g.newReload(), kernelServices{g}.newHandover()
	g.beside = realm.NewRegistered()
	g.chains, g.web, g.webHosts = kernelServices{g}.newChains(), nameServices{g}.newWeb(), nameServices{g}.newWebHosts()
	g.natlog, g.flows = machineServices{g}.newNATLog(), kernelServices{g}.newFlows()
	g.stream = machineServices{g}.newStream()
	g.events.Listeners = g.stream
	g.systemd, g.access = machineServices{g}.newSystemd(), machineServices{g}.newAccess()
	g.dynamic, g.edges = hostServices{g}.newDynamic(), hostServices{g}.newEdges()
	g.services = g.newServices()
	return g
}

// view is what one configuration says, whole.
type view struct {
	config     *config.Config
	document   *config.Document // what config was read from, with what commands changed
	filed      *config.Document // as the file has it
	realm      *realm.Realm
	numbers    ruleset.Numbers // of functions
	geofences  geo.Geofences   // as they were read: by a start or a reload
	outbound   []netip.Addr
	hops       []netip.Addr // as they were then, too
	dnat       ruleset.Dnat
	webRest    rest.Ports // ports that were the web's a moment ago
	backends   balance.Set
	askers     ask.Set
	lists      lists.Contents
	allowed    func() ban.Allowed // made once
	generation uint32
}

// draft is a view on its way into force, to which each service adds what it makes of the configuration.
type draft struct {
	*view
	before *view // in force; nil at the start
	wanted wanted
}

// wanted is what is to come into force. What is read from the file has what is outside the daemon looked at anew; the rest is
// of what is not read.
type wanted struct {
	document *config.Document
	read     bool
	filed    *config.Document // what the file has of it; nil: all
	outbound []netip.Addr
	lists    lists.Contents
}

// next is a draft of another view.
func (v *view) next(w wanted) *draft { return &draft{view: &view{}, before: v, wanted: w} }

// newView makes it. addresses are the outbound ones of now, and past tells those that were until they left their interfaces.
func newView(d *config.Document, addresses []netip.Addr, past func(netip.Addr) bool, lists lists.Contents) (*view, error) {
	c, err := outbound.Resolved(d.Config, addresses)
	if err != nil {
		return nil, err
	}
	r, err := realm.New(d, c.Web.Addresses)
	if err != nil {
		return nil, err
	}
	v := &view{config: c, document: d, filed: d, realm: r, lists: lists, outbound: addresses}
	if v.numbers, err = ruleset.NewNumbers(c); err != nil {
		return nil, err
	}
	if v.dnat, err = ruleset.DnatOf(c, addresses, past); err != nil {
		return nil, err
	}
	if err := v.shared().Check(); err != nil {
		return nil, err
	}
	return v, nil
}
