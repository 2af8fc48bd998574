package balance

import (
	"errors"
	"log/slog"
	"net/netip"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/nf/multipath"
	"github.com/realmgate/realmgate/internal/ruleset/settings"
)

// nothing has no sessions.
type nothing struct{}

func (nothing) EndSessions(func(datapath.Session) bool) (int, error) { return 0, nil }

func name(chain, function string) string { return chain + "/" + function }

func chains(every time.Duration) []settings.Chain {
	m := multipath.Settings{Checked: true}
	for _, a := range []string{"10.0.0.100", "10.0.0.101"} {
		m.Backends = append(m.Backends, multipath.Backend{To: netip.MustParseAddr(a), Port: 8080, Weight: 1})
	}
	m.Check.Every, m.Check.Fall, m.Check.Rise = every, 1, 1
	return []settings.Chain{{Name: "web", Functions: []settings.Function{{Name: "multipath", Use: "multipath", Settings: m}}}}
}

// A backend's state that could not be put into force is tried again with each answer, and
// not once more when it is.
func TestStateOfABackendIsTriedAgain(t *testing.T) {
	s := New(slog.New(slog.DiscardHandler))
	s.SetData(nothing{})
	b := Make(chains(time.Hour), nil, name)["web/multipath"]
	works, set := true, 0
	b.set = func(int, bool) error {
		set++
		if !works {
			return errors.New("no table can be made")
		}
		return nil
	}
	down := errors.New("it does not answer")
	for _, fault := range []error{down, nil} {
		works, set = false, 0
		for range 2 {
			if err := s.heard(b, 1, fault); err == nil {
				t.Errorf("after %v: no table can be made, and it is in force", fault)
			}
		}
		works = true
		for range 2 {
			if err := s.heard(b, 1, fault); err != nil {
				t.Errorf("after %v: %v", fault, err)
			}
		}
		if set != 3 {
			t.Errorf("after %v it was tried %d times, want 3", fault, set)
		}
	}
	if up, all := b.Up(); up != 2 || all != 2 {
		t.Errorf("%d of %d are up", up, all)
	}
}

// A reload that leaves a function as it is goes on with what is known of its backends; one that is discarded, too.
func TestWhatIsKnownStays(t *testing.T) {
	s := New(slog.New(slog.DiscardHandler))
	first, c := s.Prepare(chains(time.Hour), name)
	c.Settle()
	other, c := s.Prepare(chains(time.Minute), name)
	c.Discard()
	same, c := s.Prepare(chains(time.Hour), name)
	c.Settle()
	const function = "web/multipath"
	if same[function] != first[function] || other[function] == first[function] {
		t.Error("what is known of backends is of others")
	}
	if shown := same.Backends(function); len(shown) != 2 || shown[0].State != "up" {
		t.Errorf("%+v", shown)
	}
}
