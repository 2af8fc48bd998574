package datapath

// The parts of a Datapath, by what they are about. They share its core.
type (

	// sessionTable is sessions: listed, ended, swept.
	sessionTable struct {
		*core
	}

	// bindingTable is bindings and reservations of the pool.
	bindingTable struct {
		*core
	}

	// questionTable is names that the data plane answers questions for.
	questionTable struct {
		*core
	}

	// banTable is bans.
	banTable struct {
		*core
	}

	// shareTable is which hosts leave by which outbound address.
	shareTable struct {
		*core
	}

	// addressTable is addresses that are answered for.
	addressTable struct {
		*core
		*shareTable
	}

	// slotTable is outbound addresses that come and go.
	slotTable struct {
		*core
		*shareTable
		*sessionTable
		*addressTable
	}

	// policyTable is generations of policy, with their chains.
	policyTable struct {
		*core
		*shareTable
		*slotTable
	}

	// programSet is programs in the forms of both hooks.
	programSet struct {
		*core
	}

	// filterSet is filters of clsact and programs at buffers.
	filterSet struct {
		*core
	}

	// guardSet is programs at ways out.
	guardSet struct {
		*core
		*filterSet
		*programSet
	}

	// hostKeeper is settings of the host.
	hostKeeper struct {
		*core
	}

	// carrierSet is the pair of veths that carries fragments.
	carrierSet struct {
		*core
		*filterSet
		*hostKeeper
	}

	// attachment is interfaces.
	attachment struct {
		*core
		*programSet
		*filterSet
		*guardSet
		*carrierSet
		*hostKeeper
		*addressTable
	}

	// lookup is what a packet would meet.
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
	addresss := &addressTable{c, shares}
	slots := &slotTable{c, shares, sessions, addresss}
	policy := &policyTable{c, shares, slots}
	program := &programSet{c}
	filter := &filterSet{c}
	guard := &guardSet{c, filter, program}
	host := &hostKeeper{c}
	carrier := &carrierSet{c, filter, host}
	attachment := &attachment{c, program, filter, guard, carrier, host, addresss}
	lookup := &lookup{c, shares}
	return &Datapath{
		core:          c,
		sessionTable:  sessions,
		bindingTable:  bindings,
		questionTable: questions,
		banTable:      bans,
		shareTable:    shares,
		addressTable:  addresss,
		slotTable:     slots,
		policyTable:   policy,
		programSet:    program,
		filterSet:     filter,
		guardSet:      guard,
		hostKeeper:    host,
		carrierSet:    carrier,
		attachment:    attachment,
		lookup:        lookup,
	}
}
