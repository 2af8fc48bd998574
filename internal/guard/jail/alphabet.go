package jail

import (
	"regexp/syntax"
	"slices"
	"unicode"
)

func takes(in *syntax.Inst, c rune) bool {
	switch in.Op {
	case syntax.InstMatch, syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
		return true
	case syntax.InstRune, syntax.InstRune1:
		return in.MatchRune(c)
	default:
		return false
	}
}

// alphabet returns a character of each class that no instruction tells apart, those that
// people like to read first. No line has a line feed.
func alphabet(program *syntax.Prog) (chars []rune) {
	edges := []rune{0, '\n', '\n' + 1}
	for i := range program.Inst {
		in := &program.Inst[i]
		if in.Op != syntax.InstRune && in.Op != syntax.InstRune1 {
			continue
		}
		for j, c := range in.Rune {
			edges = append(edges, c+rune(j&1))
		}
		if len(in.Rune) == 1 {
			c := in.Rune[0]
			edges = append(edges, c+1)
			for f := unicode.SimpleFold(c); f != c; f = unicode.SimpleFold(f) {
				edges = append(edges, f, f+1)
			}
		}
	}
	slices.Sort(edges)
	edges = append(slices.Compact(edges), unicode.MaxRune+1)
	for i, low := range edges[:len(edges)-1] {
		if low <= unicode.MaxRune && low != '\n' {
			chars = append(chars, legible(low, edges[i+1]))
		}
	}
	slices.SortStableFunc(chars, func(a, b rune) int { return rank(a) - rank(b) })
	return chars
}

func legible(low, above rune) rune {
	for _, c := range "a1 " {
		if low <= c && c < above {
			return c
		}
	}
	if low < '!' && '!' < above {
		return '!'
	}
	return low
}

func rank(c rune) int {
	switch {
	case c < unicode.MaxASCII && (unicode.IsLetter(c) || unicode.IsDigit(c)):
		return 0
	case c < unicode.MaxASCII && unicode.IsPrint(c):
		return 1
	}
	return 2
}
