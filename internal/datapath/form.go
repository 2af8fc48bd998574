package datapath

import (
	"errors"
	"fmt"

	"github.com/cilium/ebpf"
)

// form is the data plane as it is compiled for one hook (bpf/include/ctx.h). Both have the
// same tables; what their programs enter by tail call is loaded for each.
type form struct {
	private, public, hairpin, question, fragment *ebpf.Program
	barePrivate, barePublic                      *ebpf.Program // where packets of bare interfaces come in; TCX alone
	programs, chains                             *ebpf.Map
}

// ofTCX are the arrays of programs that the form for socket buffers has for itself, under
// the names that they are pinned by.
var ofTCX = map[string]string{"programs": "tcx_programs", "chains": "tcx_chains"}

// load creates or adopts the tables and loads the programs over them.
func (d *Datapath) load(spec *ebpf.CollectionSpec) error {
	options := ebpf.CollectionOptions{}
	if d.directory != "" {
		options.Maps.PinPath = d.directory
		pinByName(spec)
	}
	if err := spec.LoadAndAssign(&d.objects, &options); err != nil {
		return d.notLoaded(err)
	}
	o := &d.objects
	d.forms[XDP] = &form{o.GatewayPrivate, o.GatewayPublic, o.GatewayHairpin, o.GatewayQuestion, o.GatewayFragment, nil, nil, o.Programs, o.Chains}
	return d.loadTCX(options)
}

func pinByName(spec *ebpf.CollectionSpec) {
	for name, m := range spec.Maps {
		if name[0] != '.' { // .rodata and .bss belong to the programs
			m.Pinning = ebpf.PinByName
		}
	}
}

func (d *Datapath) notLoaded(err error) error {
	var verifier *ebpf.VerifierError
	if errors.As(err, &verifier) {
		return fmt.Errorf("the kernel refuses the programs (6.1 or newer is needed): %w", err)
	}
	return fmt.Errorf("load the data plane (is there memory for %d sessions?): %w", d.layout.Capacity, err)
}

// loadTCX loads the programs for socket buffers over the tables of those for XDP.
func (d *Datapath) loadTCX(options ebpf.CollectionOptions) error {
	spec, err := loadTcx()
	if err != nil {
		return fmt.Errorf("read the compiled programs for socket buffers: %w", err)
	}
	if err := applyLayout(spec, &d.layout, &d.options); err != nil {
		return fmt.Errorf("set the sizes of the tables: %w", err)
	}
	if d.directory != "" {
		pinByName(spec)
	}
	options.MapReplacements = map[string]*ebpf.Map{}
	for name, table := range d.tables() {
		if own := ofTCX[name]; own != "" {
			spec.Maps[name].Name = own
		} else if spec.Maps[name] != nil {
			options.MapReplacements[name] = table
			spec.Maps[name].Pinning = ebpf.PinNone
		}
	}
	var o struct {
		tcxPrograms
		Programs *ebpf.Map `ebpf:"programs"`
		Chains   *ebpf.Map `ebpf:"chains"`
	}
	if err := spec.LoadAndAssign(&o, &options); err != nil {
		d.objects.Close()
		return d.notLoaded(err)
	}
	d.carrierProgram = o.GatewayCarrier
	d.forms[TCX] = &form{o.GatewayPrivate, o.GatewayPublic, o.GatewayHairpin, o.GatewayQuestion, o.GatewayFragment, o.BarePrivate, o.BarePublic, o.Programs, o.Chains}
	return nil
}

// program is the form's for frames of a side.
func (f *form) program(side bpfSide) *ebpf.Program {
	if side == bpfSideSIDE_PUBLIC {
		return f.public
	}
	return f.private
}

// entry is the program that is attached to an interface of the side.
func (f *form) entry(side bpfSide, bare bool) *ebpf.Program {
	switch {
	case !bare:
		return f.program(side)
	case side == bpfSideSIDE_PUBLIC:
		return f.barePublic
	}
	return f.barePrivate
}

func (f *form) close() error {
	return errors.Join(f.private.Close(), f.public.Close(), f.hairpin.Close(), f.question.Close(), f.fragment.Close(),
		f.barePrivate.Close(), f.barePublic.Close(),
		f.programs.Close(), f.chains.Close())
}
