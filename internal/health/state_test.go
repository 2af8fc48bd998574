package health

import (
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"
)

var errRefused = errors.New("refused")

// answers are good (+) or bad (-), one a second.
func answers(o Options, row string) (states []State) {
	s := New()
	for i, a := range row {
		var fault error
		if a == '-' {
			fault = errRefused
		}
		s = s.After(o, time.Unix(int64(i), 0), fault)
		states = append(states, s)
	}
	return states
}

// The first answer decides; after that it takes some in a row, and one of the other kind
// begins the row anew.
func TestState(t *testing.T) {
	o := Options{Rise: 2, Fall: 3}
	for _, c := range []struct{ row, up string }{
		{"+", "+"},
		{"-", "-"},
		{"+---", "+++-"},
		{"+--+--+", "+++++++"},
		{"-++", "--+"},
		{"-+-+", "----"},
		{"+---++---", "+++--+++-"},
	} {
		got := ""
		for _, s := range answers(o, c.row) {
			got += map[bool]string{true: "+", false: "-"}[s.Up]
		}
		if got != c.up {
			t.Errorf("after %s: %s, want %s", c.row, got, c.up)
		}
	}
	if s := New(); !s.Up || s.Asked {
		t.Errorf("before anybody asked: %+v", s)
	}
	if s := New().After(o, time.Unix(0, 0), errors.New(strings.Repeat("é", 1<<16))); len(s.Fault) > mostFault+3 || !utf8.ValidString(s.Fault) {
		t.Errorf("of a long answer %d bytes are kept", len(s.Fault))
	}
	last := answers(o, "+---")[3]
	if !last.Since.Equal(time.Unix(3, 0)) || last.Fault != "refused" {
		t.Errorf("when it went down: %+v", last)
	}
}

// A state changes just when the last answers, as many as it takes, all speak against it.
func TestStateChangesByRows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := Options{Rise: rapid.IntRange(1, 4).Draw(t, "rise"), Fall: rapid.IntRange(1, 4).Draw(t, "fall")}
		row := rapid.SliceOfN(rapid.SampledFrom([]rune("+-")), 1, 40).Draw(t, "row")
		up, since := row[0] == '+', 0
		for i, s := range answers(o, string(row)) {
			most := o.Fall
			if !up {
				most = o.Rise
			}
			against := 0
			for j := i; j > since && (row[j] == '+') != up; j-- {
				against++
			}
			if against >= most {
				up, since = !up, i
			}
			if s.Up != up || !s.Since.Equal(time.Unix(int64(since), 0)) {
				t.Fatalf("after %s: %+v, want up %t since %d", string(row[:i+1]), s, up, since)
			}
		}
	})
}
