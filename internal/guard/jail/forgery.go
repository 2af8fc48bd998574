package jail

import (
	"errors"
	"regexp/syntax"
	"slices"
)

const (
	mostInstructions = 600        // of a pattern's program
	mostSteps        = 20_000_000 // of the search: about a second
)

var errLarge = errors.New("it is too large: use fewer or smaller repetitions ({n,m})")

// twoPlaces returns the shortest line, if there is one, that a pattern's program can read
// in two ways, with the address beginning in two places. It walks two readings through the
// program at once, character by character, and ends as the pairs of instructions do.
// Word boundaries are taken to hold everywhere, so it may find a line too many.
func twoPlaces(program *syntax.Prog, group int) (line string, found bool, err error) {
	n := len(program.Inst)
	if n > mostInstructions {
		return "", false, errLarge
	}
	s := newForgery(program, group)
	first := pair{program.Start, program.Start, 0}
	s.add(first, -1, 0)
	for i := 0; i < len(s.nodes); i++ {
		if s.steps > mostSteps {
			return "", false, errLarge
		}
		if s.expand(i) {
			return s.line(len(s.nodes) - 1), true, nil
		}
	}
	return "", false, nil
}

// pair is how far two readings of one line are: the instructions they go on with, and how
// many of them have begun the address. The one that begins it first is a.
type pair struct{ a, b, begun int }

type node struct {
	pair
	parent int
	char   rune // that led here
}

// stop is an instruction that takes a character, or the end.
type stop struct {
	at     int
	begins bool // the address begins on the way to it
}

type forgery struct {
	program *syntax.Prog
	start   uint32 // argument of the instruction that begins the address
	chars   []rune // one of each class that the program tells apart
	takes   [][]bool
	begin   []stop   // from the begin of the line
	inside  [][]stop // by instruction
	last    []bool   // by instruction: the line may end there
	seen    []bool
	nodes   []node
	steps   int
}

func newForgery(program *syntax.Prog, group int) *forgery {
	n := len(program.Inst)
	s := &forgery{
		program: program, start: uint32(2 * group), chars: alphabet(program),
		takes: make([][]bool, n), inside: make([][]stop, n), last: make([]bool, n), seen: make([]bool, 3*n*n),
	}
	const begins, ends = syntax.EmptyBeginLine | syntax.EmptyBeginText, syntax.EmptyEndLine | syntax.EmptyEndText
	s.begin = s.reach(program.Start, begins)
	for i := range program.Inst {
		s.takes[i] = make([]bool, len(s.chars))
		for j, c := range s.chars {
			s.takes[i][j] = takes(&program.Inst[i], c)
		}
		s.inside[i] = s.reach(i, 0)
		s.last[i] = slices.ContainsFunc(s.reach(i, ends), func(t stop) bool { return program.Inst[t.at].Op == syntax.InstMatch })
	}
	return s
}

// reach returns the stops that an instruction leads to where the line begins or ends.
func (s *forgery) reach(from int, edge syntax.EmptyOp) (stops []stop) {
	const words = syntax.EmptyWordBoundary | syntax.EmptyNoWordBoundary
	seen := map[stop]bool{}
	var walk func(stop)
	walk = func(t stop) {
		if seen[t] {
			return
		}
		seen[t] = true
		in := &s.program.Inst[t.at]
		switch in.Op {
		case syntax.InstAlt, syntax.InstAltMatch:
			walk(stop{int(in.Out), t.begins})
			walk(stop{int(in.Arg), t.begins})
		case syntax.InstCapture:
			walk(stop{int(in.Out), t.begins || in.Arg == s.start})
		case syntax.InstNop:
			walk(stop{int(in.Out), t.begins})
		case syntax.InstEmptyWidth:
			if syntax.EmptyOp(in.Arg)&^(edge|words) == 0 {
				walk(stop{int(in.Out), t.begins})
			}
		case syntax.InstFail:
		default:
			stops = append(stops, t)
		}
	}
	walk(stop{from, false})
	return stops
}

// expand adds what a character more leads to; it returns true where the line may end with
// the address in two places. The last node is then that end.
func (s *forgery) expand(i int) bool {
	p := s.nodes[i].pair
	as, bs := s.inside[p.a], s.inside[p.b]
	if i == 0 {
		as, bs = s.begin, s.begin
	}
	for _, a := range as {
		for _, b := range bs {
			s.steps++
			begun := p.begun
			switch {
			case begun == 0 && b.begins:
				continue // in one place; or what is there with a and b exchanged too
			case begun == 0 && a.begins, begun == 1 && b.begins:
				begun++
			}
			char, both := s.both(a.at, b.at)
			if !both {
				continue
			}
			next := pair{s.after(a.at), s.after(b.at), begun}
			if s.add(next, i, char) && begun == 2 && s.last[next.a] && s.last[next.b] {
				return true
			}
		}
	}
	return false
}

// both returns a character that two instructions take.
func (s *forgery) both(a, b int) (rune, bool) {
	for i, c := range s.chars {
		s.steps++
		if s.takes[a][i] && s.takes[b][i] {
			return c, true
		}
	}
	return 0, false
}

// after is where a reading goes on. After the end of a pattern any text may follow.
func (s *forgery) after(at int) int {
	if in := &s.program.Inst[at]; in.Op != syntax.InstMatch {
		return int(in.Out)
	}
	return at
}

func (s *forgery) add(p pair, parent int, char rune) bool {
	n := len(s.program.Inst)
	key := (p.begun*n+p.a)*n + p.b
	if s.seen[key] {
		return false
	}
	s.seen[key] = true
	s.nodes = append(s.nodes, node{p, parent, char})
	return true
}

func (s *forgery) line(i int) string {
	var line []rune
	for ; i > 0; i = s.nodes[i].parent {
		line = append(line, s.nodes[i].char)
	}
	slices.Reverse(line)
	return string(line)
}
