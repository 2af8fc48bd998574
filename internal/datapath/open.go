package datapath

import (
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/rlimit"

	"github.com/realmgate/realmgate/internal/netdev"
)

// Datapath is a loaded data plane: a core, and parts that do one thing each with it.
type Datapath struct {
	*core
	*sessionTable
	*bindingTable
	*questionTable
	*webTable
	*banTable
	*shareTable
	*addressTable
	*slotTable
	*policyTable
	*flowTable
	*programSet
	*filterSet
	*guardSet
	*hostKeeper
	*carrierSet
	*replayer
	*attachment
	*lookup
	*edgeTable
}

// core is what all parts of a data plane need.
type core struct {
	options   Options
	directory string // of the pins; empty: none
	adopted   bool
	prepares  bool // programs for a start that follows: see Prepare
	layout    bpfLayout
	objects   objects
	forms     map[Mode]*form // XDP and TCX
	reasons   []string
	graceful  *ebpf.Map // see grace

	serves   atomic.Bool // there are web addresses, or have been
	lends    atomic.Bool // the same of the pool's
	edges    atomic.Bool // and of edges
	sweeping sync.Mutex  // held while the sweep runs
	bound    boundPorts

	mutex sync.Mutex // guards what follows
	ports []*port

	old         bool         // the kernel has no tcx, but filters of clsact
	clsact      map[int]bool // interfaces whose clsact is of our making
	egress      egress
	carrier     carrier // of fragments
	edgeCarrier carrier // of packets to other edges
	sender      sender
	known       map[netip.Addr]addressEntry // addresses that are answered for by what was written
	pool        []netip.Addr                // of these, as SetAddresses said
	dnat        []netip.Addr
	own         []netip.Addr
	web         []netip.Addr // as SetWebAddresses said

	promises map[netip.Addr]WebPromise // of these
}

// Open adopts the data plane that an earlier daemon of the same instance left
// in the kernel, if its network namespace, sizes and table layout match, else
// discards it with a log line and loads a new one. Nothing is attached yet.
func Open(options Options) (*Datapath, error) {
	ofAdopted := options.Slots == 0
	if err := options.check(); err != nil {
		return nil, err
	}
	if err := CheckCapabilities(); err != nil {
		return nil, err
	}
	if err := rlimit.RemoveMemlock(); err != nil {
		return nil, fmt.Errorf("lift the limit on locked memory: %w", err)
	}
	d := parts(&core{options: options, known: map[netip.Addr]addressEntry{}, promises: map[netip.Addr]WebPromise{}, forms: map[Mode]*form{},
		old: options.WithoutTCX || isOld(), clsact: map[int]bool{}})
	spec, err := xdpSpec()
	if err != nil {
		return nil, fmt.Errorf("read the compiled programs: %w", err)
	}
	d.reasons = enumNames(spec, "reason", "REASON_")
	if options.Instance != "" {
		if d.directory, err = d.pinDirectory(); err != nil {
			return nil, err
		}
		if old, err := d.pinnedLayout(); err == nil && ofAdopted && int(old.Slots) >= len(options.Outbound) {
			options.Slots = int(old.Slots)
			d.options.Slots = options.Slots
		}
	}
	d.layout = newLayout(&options)
	if err := applyLayout(spec, &d.layout, &d.options); err != nil {
		return nil, fmt.Errorf("set the sizes of the tables: %w", err)
	}
	d.layout.Shape, d.layout.Build = shapeOf(spec), buildHash()
	if d.layout.Namespace, err = netdev.Namespace(); err != nil {
		return nil, err
	}
	if options.Instance != "" {
		if err := d.prepareAdoption(); err != nil {
			return nil, err
		}
	}
	if err := spec.Variables["fixed"].Set(&d.layout); err != nil {
		return nil, fmt.Errorf("set the layout: %w", err)
	}
	if err := d.load(spec); err != nil {
		return nil, err
	}
	if err := d.loadEgress(); err != nil {
		return nil, errors.Join(err, d.closeForms())
	}
	if err := d.loadSender(); err != nil {
		return nil, errors.Join(err, d.closeEgress(true), d.closeForms())
	}
	if err := d.initialise(); err != nil {
		return nil, errors.Join(err, d.sender.Close(), d.closeEgress(true), d.closeForms())
	}
	return d, nil
}

// Adopted reports whether sessions and reservations of an earlier daemon live on.
func (d *core) Adopted() bool { return d.adopted }

// prepareAdoption looks at what is pinned: it keeps a data plane that fits and
// takes over its secrets, and removes one that does not.
func (d *Datapath) prepareAdoption() error {
	if _, err := os.Stat(d.directory); errors.Is(err, os.ErrNotExist) {
		return os.MkdirAll(d.directory, 0o700)
	}
	old, err := d.pinnedLayout()
	if err == nil {
		fits := old
		fits.Seed, fits.SynCookieKey, fits.Groups, fits.Build = d.layout.Seed, d.layout.SynCookieKey, d.layout.Groups, d.layout.Build
		if fits == d.layout {
			build := d.layout.Build
			d.layout, d.adopted = old, true
			return d.keepPrograms(build)
		}
		err = errors.New("network namespace, capacity, outbound.slots or table layout differ")
	}
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("adopt the data plane of an earlier daemon: %w: give %s and what is in it to the gateway's user", err, d.directory)
	}
	d.options.Logger.Warn("data plane of an earlier daemon discarded", "why", err)
	if err := d.restoreDiscarded(); err != nil {
		d.options.Logger.Warn("host settings not restored", "error", err)
	}
	if err := unpin(d.directory); err != nil {
		return err
	}
	return os.MkdirAll(d.directory, 0o700)
}

const layoutPin = "layout_table"

var errOtherSize = errors.New("its layout has another size")

func (d *core) pinnedLayout() (bpfLayout, error) {
	var layout bpfLayout
	table, err := ebpf.LoadPinnedMap(d.pinPath(layoutPin), nil)
	if err != nil {
		return layout, fmt.Errorf("open the pinned layout: %w", err)
	}
	defer table.Close()
	if int(table.ValueSize()) != sizeOf(layout) {
		return layout, errOtherSize
	}
	return layout, table.Lookup(uint32(0), &layout)
}

// initialise fills what the programs expect to find.
func (d *Datapath) initialise() error {
	if err := d.newGrace(); err != nil {
		return err
	}
	if err := d.readBoundPorts(); err != nil {
		return err
	}
	if d.adopted {
		return errors.Join(d.StopCaptures(), d.readAddresses(), d.readEdges())
	}
	if err := d.objects.LayoutTable.Put(uint32(0), &d.layout); err != nil {
		return fmt.Errorf("write the layout: %w", err)
	}
	for array := range d.layout.Slots * protocols {
		if err := d.objects.PortBitmaps.Put(array, &freePorts); err != nil {
			return fmt.Errorf("prepare the ports: %w", err)
		}
	}
	none := &shares{}
	for i := range none.Slot {
		none.Slot[i] = noSlot
	}
	if err := d.writeShares(none); err != nil {
		return err
	}
	_, err := d.SetOutbound(d.options.Outbound)
	return err
}

// Close gives up the data plane. keep leaves it working in the kernel for the
// next daemon; otherwise the programs are detached, settings of the host put
// back and the pins removed.
func (d *Datapath) Close(keep bool) error {
	d.StopWatches()
	d.mutex.Lock()
	defer d.mutex.Unlock()
	var errs []error
	if !keep || d.directory == "" {
		errs = append(errs, d.restoreHost(), d.detach(), d.closeEgress(false), d.closeCarriers(false))
		if d.directory != "" {
			errs = append(errs, unpin(d.directory))
		}
	} else {
		errs = append(errs, d.closeEgress(true), d.closeCarriers(true))
	}
	for _, p := range d.ports {
		if p.hold != nil {
			errs = append(errs, p.hold.keep())
		}
	}
	d.ports = nil
	return errors.Join(append(errs, d.sender.Close(), d.graceful.Close(), d.closeForms())...)
}
