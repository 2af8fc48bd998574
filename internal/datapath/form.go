package datapath

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/cilium/ebpf"
)

// form is the data plane as it is compiled for one hook (bpf/include/ctx.h). Both have the
// same tables; what their programs enter by tail call is loaded for each.
type form struct {
	programs, chains *ebpf.Map

	// The kernel takes a second for each form's entries: they are loaded when an interface needs them.
	mutex   sync.Mutex
	read    func() (*ebpf.CollectionSpec, error)
	entries *entries // nil: not loaded
}

// entries are the programs that packets come in by, or come to by tail call.
type entries struct {
	sides
	bareSides // TCX alone
	singleSides
	flowSides
	leaveSides // TCX alone
	webSides
	poolSides
	hostSides
	edgeSides
	segmentSides // TCX alone
}

// singleSides are all that a machine has that has nobody behind it.
type singleSides struct {
	Single *ebpf.Program `ebpf:"gateway_single"`
}

// flowSides are the same where it has chains.
type flowSides struct {
	Flows *ebpf.Program `ebpf:"gateway_single_in"`
}

// leaveSides are where packets go out there.
type leaveSides struct {
	Leave *ebpf.Program `ebpf:"gateway_single_out"`
}

// sides are those of a gateway.
type sides struct {
	Private  *ebpf.Program `ebpf:"gateway_private"`
	Public   *ebpf.Program `ebpf:"gateway_public"`
	Hairpin  *ebpf.Program `ebpf:"gateway_hairpin"`
	Question *ebpf.Program `ebpf:"gateway_question"`
	Fragment *ebpf.Program `ebpf:"gateway_fragment"`
}

// webSides are where packets of connections to web addresses come to by tail call, or from the daemon: loaded where there are such addresses.
type webSides struct {
	Web      *ebpf.Program `ebpf:"gateway_web"`
	Datagram *ebpf.Program `ebpf:"gateway_datagram"`
	Again    *ebpf.Program `ebpf:"gateway_again"` // run by the daemon
}

// poolSides are where TCP to the pool comes to when it is flooded: loaded where there are addresses of the pool.
type poolSides struct {
	Overflow *ebpf.Program `ebpf:"gateway_overflow"`
}

// hostSides are where answers of hosts to either come to.
type hostSides struct {
	Host *ebpf.Program `ebpf:"gateway_host"`
}

// edgeSides are where packets to proxy addresses, and those of the tunnel, come to: loaded where there are edges.
type edgeSides struct {
	EdgeOut *ebpf.Program `ebpf:"gateway_edge_out"`
	EdgeIn  *ebpf.Program `ebpf:"gateway_edge_in"`
}

// bareSides are where packets of bare interfaces come in.
type bareSides struct {
	Private *ebpf.Program `ebpf:"bare_private"`
	Public  *ebpf.Program `ebpf:"bare_public"`
}

// objects are the tables, and what works on them.
type objects struct {
	bpfMaps
	own
}

// own are the programs that the daemon itself runs.
type own struct {
	BindPort            *ebpf.Program `ebpf:"bind_port"`
	BindService         *ebpf.Program `ebpf:"bind_service"`
	ChangePact          *ebpf.Program `ebpf:"change_pact"`
	ClearCount          *ebpf.Program `ebpf:"clear_count"`
	EndLink             *ebpf.Program `ebpf:"end_link"`
	EndPact             *ebpf.Program `ebpf:"end_pact"`
	LetNext             *ebpf.Program `ebpf:"let_next"`
	ExtendReservation   *ebpf.Program `ebpf:"extend_reservation"`
	PutLink             *ebpf.Program `ebpf:"put_link"`
	PutLinkKey          *ebpf.Program `ebpf:"put_link_key"`
	PutPact             *ebpf.Program `ebpf:"put_pact"`
	ReserveBinding      *ebpf.Program `ebpf:"reserve_binding"`
	Sweep               *ebpf.Program `ebpf:"sweep"`
	UnbindPort          *ebpf.Program `ebpf:"unbind_port"`
	UnbindService       *ebpf.Program `ebpf:"unbind_service"`
	WithdrawReservation *ebpf.Program `ebpf:"withdraw_reservation"`
}

func (o *objects) Close() error {
	return errors.Join(o.bpfMaps.Close(), closePrograms(&o.own))
}

// ofTCX are the arrays of programs that the form for socket buffers has for itself, under
// the names that they are pinned by.
var ofTCX = map[string]string{"programs": "tcx_programs", "chains": "tcx_chains"}

// load creates or adopts the tables, and loads what the daemon runs over them.
func (d *programSet) load(spec *ebpf.CollectionSpec) error {
	options := ebpf.CollectionOptions{}
	if d.directory != "" {
		options.Maps.PinPath = d.directory
		pinByName(spec)
	}
	if err := spec.LoadAndAssign(&d.objects.bpfMaps, &options); err != nil {
		return d.notLoaded(err)
	}
	if err := d.assign(&d.objects.own, spec, ebpf.CollectionOptions{MapReplacements: d.shared(spec, nil)}, ""); err != nil {
		return errors.Join(err, d.objects.bpfMaps.Close())
	}
	d.forms[XDP] = &form{read: xdpSpec, programs: d.objects.Programs, chains: d.objects.Chains}
	return d.loadTCX(options)
}

func pinByName(spec *ebpf.CollectionSpec) {
	for name, m := range spec.Maps {
		if name[0] != '.' { // .rodata and .bss belong to the programs
			m.Pinning = ebpf.PinByName
		}
	}
}

// shared has a form take over the tables that there are, but its own.
func (d *programSet) shared(spec *ebpf.CollectionSpec, own map[string]string) map[string]*ebpf.Map {
	tables := map[string]*ebpf.Map{}
	for name, table := range d.Tables() {
		if spec.Maps[name] != nil && own[name] == "" {
			tables[name] = table
			spec.Maps[name].Pinning = ebpf.PinNone
		}
	}
	return tables
}

func (d *programSet) notLoaded(err error) error {
	var verifier *ebpf.VerifierError
	if errors.As(err, &verifier) {
		return fmt.Errorf("the kernel refuses the programs (6.1 or newer is needed): %w", err)
	}
	return fmt.Errorf("load the data plane (is there memory for %d sessions?): %w", d.layout.Capacity, err)
}

// loadTCX makes what the form for socket buffers has besides, and loads the program that
// releases fragments.
func (d *programSet) loadTCX(options ebpf.CollectionOptions) error {
	spec, err := tcxSpec()
	if err != nil {
		return fmt.Errorf("read the compiled programs for socket buffers: %w", err)
	}
	if err := applyLayout(spec, &d.layout, &d.options); err != nil {
		return fmt.Errorf("set the sizes of the tables: %w", err)
	}
	if d.directory != "" {
		pinByName(spec)
	}
	options.MapReplacements = d.shared(spec, ofTCX)
	for name, own := range ofTCX {
		spec.Maps[name].Name = own
	}
	var maps struct {
		Programs *ebpf.Map `ebpf:"programs"`
		Chains   *ebpf.Map `ebpf:"chains"`
	}
	if err := spec.LoadAndAssign(&maps, &options); err != nil {
		return errors.Join(d.notLoaded(err), d.objects.Close())
	}
	options.MapReplacements["programs"], options.MapReplacements["chains"] = maps.Programs, maps.Chains
	options.Maps.PinPath = ""
	var programs struct {
		Carrier *ebpf.Program `ebpf:"gateway_carrier"`
	}
	if err := d.assign(&programs, spec, options, string(TCX)); err != nil {
		return errors.Join(err, maps.Programs.Close(), maps.Chains.Close(), d.objects.Close())
	}
	d.carrier = carrier{carrierKind: ofFragments, program: programs.Carrier}
	d.forms[TCX] = &form{read: tcxSpec, programs: maps.Programs, chains: maps.Chains}
	return nil
}

// loaded are the form's entries, which it loads where nobody has needed them yet.
func (d *programSet) loaded(mode Mode) (*entries, error) {
	f := d.forms[mode]
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if f.entries != nil {
		return f.entries, nil
	}
	e := &entries{}
	var err error
	for _, group := range d.always(e, mode) {
		err = errors.Join(err, d.loadInto(group, mode))
	}
	if err == nil {
		err = f.enter(e.entered())
	}
	if err == nil {
		err = d.loadNeeded(mode, e)
	}
	if err != nil {
		return nil, errors.Join(err, closePrograms(e))
	}
	f.entries = e
	return e, nil
}

// always are those that a form always has.
func (d *programSet) always(e *entries, mode Mode) (groups []any) {
	groups = []any{&e.sides}
	if d.options.Single {
		groups = []any{&e.singleSides}
	}
	if d.options.SingleFlows {
		groups = []any{&e.flowSides}
		if mode == TCX {
			groups = append(groups, &e.leaveSides)
		}
	}
	if mode == TCX {
		groups = append(groups, &e.bareSides)
	}
	return groups
}

// single is where packets come in to a single machine, with chains or without; nil on a gateway.
func (e *entries) single() *ebpf.Program {
	if e.Flows != nil {
		return e.Flows
	}
	return e.Single
}

// entered are those of them that are entered by tail call.
func (e *entries) entered() map[bpfProgram]*ebpf.Program {
	if single := e.single(); single != nil {
		return map[bpfProgram]*ebpf.Program{bpfProgramPROGRAM_PUBLIC: single}
	}
	return map[bpfProgram]*ebpf.Program{
		bpfProgramPROGRAM_PRIVATE: e.sides.Private, bpfProgramPROGRAM_PUBLIC: e.sides.Public, bpfProgramPROGRAM_HAIRPIN: e.Hairpin,
		bpfProgramPROGRAM_QUESTION: e.Question, bpfProgramPROGRAM_FRAGMENT: e.Fragment,
	}
}

// loadInto loads the programs that a struct names, of a form.
func (d *programSet) loadInto(into any, mode Mode) error {
	if d.tookOver(into, string(mode)) {
		return nil
	}
	f := d.forms[mode]
	spec, err := f.read()
	if err == nil {
		err = applyLayout(spec, &d.layout, &d.options)
	}
	if err != nil {
		return fmt.Errorf("read the compiled programs for %s: %w", mode, err)
	}
	tables := d.shared(spec, nil)
	tables["programs"], tables["chains"] = f.programs, f.chains
	return d.assign(into, spec, ebpf.CollectionOptions{MapReplacements: tables}, string(mode))
}

// loadNeeded loads those that not every gateway needs, as far as this one does, of a form whose others are loaded.
func (d *programSet) loadNeeded(mode Mode, e *entries) error {
	serves, lends := d.serves.Load(), d.lends.Load()
	programs := map[bpfProgram]*ebpf.Program{}
	if serves && e.Web == nil {
		if err := d.loadInto(&e.webSides, mode); err != nil {
			return err
		}
		programs[bpfProgramPROGRAM_WEB], programs[bpfProgramPROGRAM_DATAGRAM] = e.Web, e.Datagram
	}
	if lends && e.Overflow == nil {
		if err := d.loadInto(&e.poolSides, mode); err != nil {
			return err
		}
		programs[bpfProgramPROGRAM_OVERFLOW] = e.Overflow
	}
	if (serves || lends) && e.Host == nil {
		if err := d.loadInto(&e.hostSides, mode); err != nil {
			return err
		}
		programs[bpfProgramPROGRAM_HOST] = e.Host
	}
	if d.edges.Load() && e.EdgeOut == nil {
		if err := d.loadInto(&e.edgeSides, mode); err != nil {
			return err
		}
		if mode == TCX {
			if err := d.loadInto(&e.segmentSides, mode); err != nil {
				return err
			}
		}
		programs[bpfProgramPROGRAM_EDGE_OUT], programs[bpfProgramPROGRAM_EDGE_IN] = e.EdgeOut, e.EdgeIn
	}
	return d.forms[mode].enter(programs)
}

// serve has the programs of web addresses loaded, in all forms that are.
func (d *programSet) serve() error { return d.need(&d.serves) }

// lend has those of the pool loaded.
func (d *programSet) lend() error { return d.need(&d.lends) }

// join has those of edges loaded.
func (d *programSet) join() error { return d.need(&d.edges) }

func (d *programSet) need(what *atomic.Bool) error {
	if what.Swap(true) {
		return nil
	}
	for mode, f := range d.forms {
		f.mutex.Lock()
		var err error
		if f.entries != nil {
			err = d.loadNeeded(mode, f.entries)
		}
		f.mutex.Unlock()
		if err != nil {
			what.Store(false)
			return err
		}
	}
	return nil
}

// enter sets programs that are entered by tail call.
func (f *form) enter(programs map[bpfProgram]*ebpf.Program) error {
	for number, program := range programs {
		if err := f.programs.Put(uint32(number), program); err != nil {
			return fmt.Errorf("set a program that is entered by tail call: %w", err)
		}
	}
	return nil
}

// Entry is the program that is attached to an interface of the side.
func (d *programSet) Entry(mode Mode, public, bare bool) (*ebpf.Program, error) {
	e, err := d.loaded(mode)
	switch {
	case err != nil:
		return nil, err
	case bare && public:
		return e.bareSides.Public, nil
	case bare:
		return e.bareSides.Private, nil
	case d.options.Single:
		return e.single(), nil
	case public:
		return e.sides.Public, nil
	}
	return e.sides.Private, nil
}

// again is the program of XDP for what the daemon sends again of a hairpin.
func (d *programSet) again() (*ebpf.Program, error) {
	e, err := d.loaded(XDP)
	if err != nil {
		return nil, err
	}
	return e.Again, nil
}

// closeForms lets go what load has made.
func (d *programSet) closeForms() error {
	var errs []error
	for _, f := range d.forms {
		if f.entries != nil {
			errs = append(errs, closePrograms(f.entries))
		}
	}
	return errors.Join(append(errs, d.forms[TCX].programs.Close(), d.forms[TCX].chains.Close(), d.objects.Close())...)
}
