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
	variants map[string]uint32 // the number of a row's first program
	pieces   map[*Step]*Piece
	rows     map[uint32]int // how many programs a packet may yet go through, by number
}

func (b *builder) close() {
	for _, p := range b.pieces {
		closeMaps(p.Maps)
	}
}

// entry returns the number of the program that judges flows of a chain: the protection,
// and then the chain itself.
func (b *builder) entry(place int) (uint32, error) {
	if len(b.Protection) == 0 {
		return b.chain(place, nil)
	}
	row, packets, err := b.links(place, nil)
	if err != nil {
		return 0, err
	}
	return b.row(append(b.protected(), row...), packets, b.empty(place))
}

// empty is the place of a chain without functions, from 1 on, and 0 for all others.
func (b *builder) empty(place int) int {
	if len(b.Chains[place].Steps) > 0 {
		return 0
	}
	return place + 1
}

// protected asks the protection.
func (b *builder) protected() (row []link) {
	for i := range b.Protection {
		row = append(row, link{step: &b.Protection[i]})
	}
	return row
}

// chain returns the number of a chain's program, entered when functions before have
// been asked that see every packet: by a jump from theirs.
func (b *builder) chain(place int, before []*Step) (uint32, error) {
	name := variant(fmt.Sprint("chain ", place), before)
	if number, known := b.variants[name]; known {
		return number, nil
	}
	row, packets, err := b.links(place, before)
	if err != nil {
		return 0, err
	}
	b.variants[name], err = b.row(row, packets, b.empty(place))
	return b.variants[name], err
}

// links are a chain's functions at their places, and packets what judges a flow's
// further packets where none of them decides.
func (b *builder) links(place int, before []*Step) (row []link, packets further, err error) {
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
		l := link{step: step, packets: packets}
		if i == 0 {
			l.enters = place + 1
		}
		for _, other := range step.Jumps {
			number, err := b.chain(other, asked)
			if err != nil {
				return nil, packets, err
			}
			l.jumps = append(l.jumps, number)
		}
		row = append(row, l)
	}
	return row, packets, nil
}

// waits reports whether a function is to be asked only until the first bytes of a flow have come.
func waits(f Function) bool {
	w, may := f.(Waiter)
	return may && w.WaitsForBytes()
}

// packets returns what judges the further packets of flows about whose first these
// functions were asked.
func (b *builder) packets(asked []*Step) (further, error) {
	others := slices.DeleteFunc(slices.Clone(asked), func(s *Step) bool { return waits(s.Function) })
	after, err := b.every(others, further{})
	if err != nil || len(others) == len(asked) {
		return further{after, after}, err
	}
	// Until then the same program, which is told by 0; then the other, or none.
	waiting, err := b.every(asked, further{0, uint32(classifierPolicyFlagPOLICY_PAYLOAD_DONE) | after})
	return further{uint32(classifierPolicyFlagPOLICY_AWAITS_PAYLOAD) | waiting, after}, err
}

// every returns the number of the program that asks functions about every packet, 0
// without any. next is what judges the packets after that.
func (b *builder) every(asked []*Step, next further) (uint32, error) {
	name := variant("packets", asked)
	if number, known := b.variants[name]; known || len(asked) == 0 {
		return number, nil
	}
	var row []link
	for _, step := range asked {
		row = append(row, link{step: step, packets: next})
	}
	number, err := b.row(row, next, 0)
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

// row loads the programs that ask the functions of a row, one after the other, and
// returns the number of the first. packets is what judges further packets where none of
// them decides. enters is the chain that begins at the end, as it has no functions.
func (b *builder) row(row []link, packets further, enters int) (next uint32, err error) {
	for i := range row {
		if row[i].piece, err = b.piece(row[i].step); err != nil {
			return 0, fmt.Errorf("function %s: %w", row[i].step.Name, err)
		}
	}
	end := len(row)
	for {
		begin := b.begin(row, end)
		if end < len(row) {
			enters = 0
		}
		if next, err = b.load(row[begin:end], next, packets, enters); err != nil || begin == 0 {
			return next, err
		}
		end = begin
	}
}

// begin is where the program begins that asks the last functions of a row.
func (b *builder) begin(row []link, end int) int {
	maps := 0
	for i := end - 1; i >= 0; i-- {
		maps += len(row[i].piece.Maps) + len(row[i].piece.Kept)
		if i < end-1 && (maps > MostMaps || row[i].piece.alone != nil || row[i+1].piece.alone != nil) {
			return i + 1
		}
	}
	return 0
}

func (b *builder) piece(step *Step) (*Piece, error) {
	if p, known := b.pieces[step]; known {
		return p, nil
	}
	p, err := step.Function.Compile(Context{Name: step.Name, Shared: b.shared, States: b.states})
	b.pieces[step] = &p
	return &p, err
}

func (b *builder) load(links []link, next uint32, packets further, enters int) (uint32, error) {
	if len(b.hooks[0].made.Chains) == mostPrograms {
		return 0, fmt.Errorf("chains take more than %d programs: each function that sees every packet takes some more, and so does each way to jump past one", mostPrograms)
	}
	row := b.rows[next]
	for _, l := range links {
		for _, number := range l.jumps {
			row = max(row, b.rows[number])
		}
	}
	if row == mostInRow {
		return 0, fmt.Errorf("it takes more than %d programs in a row, with those it jumps to: users' own functions are each one, and so are others between them", mostInRow)
	}
	var capture Piece
	if tell(links) {
		var err error
		if capture, err = capturing(b.shared); err != nil {
			return 0, err
		}
	}
	number := b.first + uint32(len(b.hooks[0].made.Chains))
	for _, h := range b.hooks {
		program, err := h.segment(links, capture, b.shared, next, packets, enters)
		if err != nil {
			return 0, err
		}
		h.made.Chains = append(h.made.Chains, program)
	}
	b.rows[number] = row + 1
	return number, nil
}

// segment loads the program that asks the functions of links.
func (h *hook) segment(links []link, capture Piece, shared Shared, next uint32, packets further, enters int) (*ebpf.Program, error) {
	instructions, err := newSegment(links, capture, shared, h).write(links, next, packets, enters)
	if err != nil {
		return nil, err
	}
	spec := &ebpf.ProgramSpec{Name: "chain", Type: h.kind, AttachType: h.attach, Instructions: instructions, License: licence}
	own := aloneOf(links)
	if own != nil {
		spec.License = own.licence
	}
	program, err := ebpf.NewProgram(spec)
	var refused *ebpf.VerifierError
	switch {
	case errors.As(err, &refused) && own != nil:
		return nil, fmt.Errorf("function %s: %w", links[0].step.Name, refusal(refused))
	case errors.As(err, &refused) && len(links) == 1:
		return nil, fmt.Errorf("the kernel refuses function %s: %w", links[0].step.Name, err)
	case err != nil:
		return nil, fmt.Errorf("the kernel refuses its program: %w", err)
	}
	return program, nil
}
