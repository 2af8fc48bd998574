package nf

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cilium/ebpf"
)

// MostMaps is how many maps the functions of a program may have; the kernel allows 64,
// and a chain's own are among them.
const MostMaps = 58

// mostInRow is how many programs a packet may go through in a row. The kernel allows 33
// tail calls in all, and what a host sends to a neighbour's public address may be judged
// three times, each with one call more than programs, and is called to its other side.
const mostInRow = 8

// mostPrograms is how many a generation has room for.
const mostPrograms = programNumbers/2 - 1

// builder compiles the chains of one generation. A chain takes a program for the first
// packet of a flow, and where functions see every packet one more for each of them: the
// further packets of a flow are judged by those that were asked about its first.
type builder struct {
	Policy
	shared   Shared
	states   *States
	first    uint32
	hooks    []*hook
	variants map[string]uint32 // the number of a sequence's first program
	compiled map[*Step]*Compiled
	depths   map[uint32]int // how many programs a packet may yet go through, by number
}

func (b *builder) close() {
	for _, p := range b.compiled {
		closeMaps(p.Maps)
	}
}

// entry returns the number of the program that judges flows of a chain: the protection,
// and then the chain itself.
func (b *builder) entry(place int) (uint32, error) {
	if len(b.Protection) == 0 {
		return b.chain(place, nil)
	}
	sites, packets, err := b.sites(place, nil)
	if err != nil {
		return 0, err
	}
	return b.sequence(append(b.protected(), sites...), packets, b.empty(place))
}

// empty is the place of a chain without functions, from 1 on, and 0 for all others.
func (b *builder) empty(place int) int {
	if len(b.Chains[place].Steps) > 0 {
		return 0
	}
	return place + 1
}

// protected asks the protection.
func (b *builder) protected() (sites []callSite) {
	for i := range b.Protection {
		sites = append(sites, callSite{step: &b.Protection[i]})
	}
	return sites
}

// chain returns the number of a chain's program, entered when functions before have
// been asked that see every packet: by a jump from theirs.
func (b *builder) chain(place int, before []*Step) (uint32, error) {
	name := variant(fmt.Sprint("chain ", place), before)
	if number, known := b.variants[name]; known {
		return number, nil
	}
	sites, packets, err := b.sites(place, before)
	if err != nil {
		return 0, err
	}
	b.variants[name], err = b.sequence(sites, packets, b.empty(place))
	return b.variants[name], err
}

// sites are a chain's functions at their places, and packets what judges a flow's
// further packets where none of them decides.
func (b *builder) sites(place int, before []*Step) (sites []callSite, packets packetPrograms, err error) {
	asked := before[:len(before):len(before)]
	if packets, err = b.packets(asked); err != nil {
		return nil, packets, err
	}
	for i := range b.Chains[place].Steps {
		step := &b.Chains[place].Steps[i]
		if step.Function.SeesEveryPacket() {
			asked = append(asked, step)
			if packets, err = b.packets(asked); err != nil {
				return nil, packets, err
			}
		}
		site := callSite{step: step, packets: packets}
		if i == 0 {
			site.enters = place + 1
		}
		for _, other := range step.Jumps {
			number, err := b.chain(other, asked)
			if err != nil {
				return nil, packets, err
			}
			site.jumps = append(site.jumps, number)
		}
		sites = append(sites, site)
	}
	return sites, packets, nil
}

// waits reports whether a function is to be asked only until the first bytes of a flow have come.
func waits(f Function) bool {
	w, may := f.(Waiter)
	return may && w.WaitsForBytes()
}

// packets returns what judges the further packets of flows about whose first these
// functions were asked.
func (b *builder) packets(asked []*Step) (packetPrograms, error) {
	others := slices.DeleteFunc(slices.Clone(asked), func(s *Step) bool { return waits(s.Function) })
	after, err := b.every(others, packetPrograms{})
	if err != nil || len(others) == len(asked) {
		return packetPrograms{after, after}, err
	}
	// Until then the same program, which is told by 0; then the other, or none.
	waiting, err := b.every(asked, packetPrograms{0, uint32(classifierPolicyFlagPOLICY_PAYLOAD_DONE) | after})
	return packetPrograms{uint32(classifierPolicyFlagPOLICY_AWAITS_PAYLOAD) | waiting, after}, err
}

// every returns the number of the program that asks functions about every packet, 0
// without any. next is what judges the packets after that.
func (b *builder) every(asked []*Step, next packetPrograms) (uint32, error) {
	name := variant("packets", asked)
	if number, known := b.variants[name]; known || len(asked) == 0 {
		return number, nil
	}
	var sites []callSite
	for _, step := range asked {
		sites = append(sites, callSite{step: step, packets: next})
	}
	number, err := b.sequence(sites, next, 0)
	b.variants[name] = number
	return number, err
}

func variant(what string, asked []*Step) string {
	var name strings.Builder
	name.WriteString(what)
	for _, step := range asked {
		name.WriteString(" " + step.Name)
	}
	return name.String()
}

// sequence loads the programs that ask functions, one after the other, and
// returns the number of the first. packets is what judges further packets where none of
// them decides. enters is the chain that begins at the end, as it has no functions.
func (b *builder) sequence(sites []callSite, packets packetPrograms, enters int) (next uint32, err error) {
	for i := range sites {
		if sites[i].compiled, err = b.compile(sites[i].step); err != nil {
			return 0, fmt.Errorf("function %s: %w", sites[i].step.Name, err)
		}
	}
	end := len(sites)
	for {
		begin := b.begin(sites, end)
		if end < len(sites) {
			enters = 0
		}
		if next, err = b.load(sites[begin:end], next, packets, enters); err != nil || begin == 0 {
			return next, err
		}
		end = begin
	}
}

// begin is where the program begins that asks the last functions of a sequence.
func (b *builder) begin(sites []callSite, end int) int {
	maps := 0
	for i := end - 1; i >= 0; i-- {
		maps += len(sites[i].compiled.Maps) + len(sites[i].compiled.Kept)
		if i < end-1 && (maps > MostMaps || sites[i].compiled.ownProgram != nil || sites[i+1].compiled.ownProgram != nil) {
			return i + 1
		}
	}
	return 0
}

func (b *builder) compile(step *Step) (*Compiled, error) {
	if p, known := b.compiled[step]; known {
		return p, nil
	}
	p, err := step.Function.Compile(Context{Name: step.Name, Shared: b.shared, States: b.states})
	b.compiled[step] = &p
	return &p, err
}

func (b *builder) load(sites []callSite, next uint32, packets packetPrograms, enters int) (uint32, error) {
	if len(b.hooks[0].made.Chains) == mostPrograms {
		return 0, fmt.Errorf("chains take more than %d programs: each function that sees every packet takes some more, and so does each way to jump past one", mostPrograms)
	}
	depth := b.depths[next]
	for _, site := range sites {
		for _, number := range site.jumps {
			depth = max(depth, b.depths[number])
		}
	}
	if depth == mostInRow {
		return 0, fmt.Errorf("it takes more than %d programs in a row, with those it jumps to: users' own functions are each one, and so are others between them", mostInRow)
	}
	var capture Compiled
	if tell(sites) {
		var err error
		if capture, err = capturing(b.shared); err != nil {
			return 0, err
		}
	}
	number := b.first + uint32(len(b.hooks[0].made.Chains))
	for _, h := range b.hooks {
		program, err := h.assemble(sites, capture, b.shared, next, packets, enters)
		if err != nil {
			return 0, err
		}
		h.made.Chains = append(h.made.Chains, program)
	}
	b.depths[number] = depth + 1
	return number, nil
}

// assemble loads the program that asks the functions of sites.
func (h *hook) assemble(sites []callSite, capture Compiled, shared Shared, next uint32, packets packetPrograms, enters int) (*ebpf.Program, error) {
	instructions, err := newAssembler(sites, capture, shared, h).write(sites, next, packets, enters)
	if err != nil {
		return nil, err
	}
	spec := &ebpf.ProgramSpec{Name: "chain", Type: h.kind, AttachType: h.attach, Instructions: instructions, License: licence}
	own := ownProgramOf(sites)
	if own != nil {
		spec.License = own.licence
	}
	program, err := ebpf.NewProgram(spec)
	var refused *ebpf.VerifierError
	switch {
	case errors.As(err, &refused) && own != nil:
		return nil, fmt.Errorf("function %s: %w", sites[0].step.Name, refusal(refused))
	case errors.As(err, &refused) && len(sites) == 1:
		return nil, fmt.Errorf("the kernel refuses function %s: %w", sites[0].step.Name, err)
	case err != nil:
		return nil, fmt.Errorf("the kernel refuses its program: %w", err)
	}
	for _, site := range sites {
		err = errors.Join(err, h.memory.tables(site.compiled.Maps), h.memory.tables(site.compiled.Kept))
	}
	if err = errors.Join(err, h.memory.program(program)); err != nil {
		return nil, errors.Join(err, program.Close())
	}
	return program, nil
}
