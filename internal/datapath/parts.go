package datapath

import (
	"sync"
	"sync/atomic"
)

// The parts of a Datapath, by what they are about. They share its core.
type (
	// sessionTable lists, ends and sweeps sessions.
	sessionTable struct {
		*core
	}

	// bindingTable makes bindings and reservations of the pool, and reads them back.
	bindingTable struct {
		*core
	}

	// questionTable says for which names the data plane answers questions.
	questionTable struct {
		*core
	}

	// webTable says where connections to web addresses go, and hears of them.
	webTable struct {
		*core
		*addressTable
	}

	// banTable puts and lists bans.
	banTable struct {
		*core
	}

	// shareTable says which hosts leave by which outbound address.
	shareTable struct {
		*core
	}

	// addressTable says which addresses are answered for.
	addressTable struct {
		*core
		*shareTable
		*programSet
	}

	// slotTable lets outbound addresses come and go.
	slotTable struct {
		*core
		*shareTable
		*sessionTable
		*addressTable
	}

	// policyTable sets generations of policy, with their chains.
	policyTable struct {
		*core
		*shareTable
		*slotTable

		chainBytes   atomic.Uint64
		open         map[bpfService]bool // by the generation in force; nil: the table says it
		lasting      map[bpfService]bool // by themselves
		lastingSince uint32              // what the table has of these
	}

	// flowTable hands on what the programs tell of packets and flows.
	flowTable struct {
		*core
		hearing sync.Mutex // guards what follows
		watches []*Watch
		reader  *flowReader
		over    chan struct{} // closed when it is read no more
	}

	// programSet loads the programs in the forms of both hooks.
	programSet struct {
		*core
	}

	// filterSet attaches programs at traffic control.
	filterSet struct {
		*core
	}

	// guardSet attaches programs at the ways out.
	guardSet struct {
		*core
		*filterSet
		*programSet
	}

	// hostKeeper keeps settings of the host and puts them back.
	hostKeeper struct {
		*core
	}

	// carrierSet makes the pair of veths that carries fragments.
	carrierSet struct {
		*core
		*filterSet
		*hostKeeper
	}

	// replayer sends frames again that programs have left to the daemon.
	replayer struct {
		*core
		*programSet
		*carrierSet
	}

	// attachment attaches the data plane to interfaces and follows them.
	attachment struct {
		*core
		*programSet
		*filterSet
		*guardSet
		*carrierSet
		*hostKeeper
		*addressTable
	}

	// edgeTable makes pacts and links with other edges, and reads them back.
	edgeTable struct {
		*core
		*programSet
		*policyTable
		*carrierSet
	}

	// lookup tells what a packet would meet.
	lookup struct {
		*core
		*shareTable
	}
)

// parts joins them on a core.
func parts(c *core) *Datapath {
	sessions := &sessionTable{c}
	bindings := &bindingTable{c}
	questions := &questionTable{c}
	bans := &banTable{c}
	shares := &shareTable{c}
	program := &programSet{c}
	addresses := &addressTable{c, shares, program}
	slots := &slotTable{c, shares, sessions, addresses}
	web := &webTable{c, addresses}
	policy := &policyTable{core: c, shareTable: shares, slotTable: slots}
	filter := &filterSet{c}
	guard := &guardSet{c, filter, program}
	host := &hostKeeper{c}
	carrier := &carrierSet{c, filter, host}
	replay := &replayer{c, program, carrier}
	attachment := &attachment{c, program, filter, guard, carrier, host, addresses}
	lookup := &lookup{c, shares}
	return &Datapath{
		core:          c,
		sessionTable:  sessions,
		bindingTable:  bindings,
		questionTable: questions,
		webTable:      web,
		banTable:      bans,
		shareTable:    shares,
		addressTable:  addresses,
		slotTable:     slots,
		policyTable:   policy,
		flowTable:     &flowTable{core: c},
		programSet:    program,
		filterSet:     filter,
		guardSet:      guard,
		hostKeeper:    host,
		carrierSet:    carrier,
		replayer:      replay,
		attachment:    attachment,
		lookup:        lookup,
		edgeTable:     &edgeTable{c, program, policy, carrier},
	}
}
