package flow

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/model"
)

var (
	at     = netip.MustParseAddrPort
	inside = at("10.0.0.1:5000")
	out    = at("192.0.2.1:5000")
	remote = at("203.0.113.7:443")
)

// fake is a data plane, and the names in force.
type fake struct {
	sessions []datapath.Session
	watched  chan *datapath.Watch
	ended    chan bool
}

func (f *fake) SessionsAfter(_ uint32, visit func(datapath.Session) bool) error {
	for _, s := range f.sessions {
		if !visit(s) {
			break
		}
	}
	return nil
}
func (f *fake) Watch(w *datapath.Watch) error                        { f.watched <- w; return nil }
func (f *fake) Unwatch(*datapath.Watch)                              { f.ended <- true }
func (f *fake) EndAll() (int, error)                                 { return 0, nil }
func (f *fake) EndSessions(func(datapath.Session) bool) (int, error) { return 0, nil }

func (f *fake) HostOf(addresses ...netip.Addr) string {
	for _, a := range addresses {
		if a == inside.Addr() {
			return "hosta.example."
		}
	}
	return ""
}

func (f *fake) Name(number uint32) model.Name {
	return map[uint32]model.Name{7: "www.hosta.example."}[number]
}

func newFake() (*fake, *Service) {
	f := &fake{watched: make(chan *datapath.Watch, 8), ended: make(chan bool, 8)}
	s := New(Options{Names: func() Names { return f }, Log: slog.New(slog.DiscardHandler), Country: func(a netip.Addr) string {
		return map[netip.Addr]string{remote.Addr(): "DE"}[a]
	}})
	s.Open(f)
	return f, s
}

func short(f api.Flow) string {
	return strings.TrimSpace(fmt.Sprint(f.Event, " ", f.From, f.FromName, " ", f.To, f.ToName, " ", f.Name, f.Reason, f.Country))
}

// The youngest of what is open come first, in their order, and of these only what is wanted; who began a flow is first.
func TestYoungest(t *testing.T) {
	t.Parallel()
	f, s := newFake()
	for age := range 10 {
		f.sessions = append(f.sessions, datapath.Session{Protocol: model.UDP, Private: inside, External: out, Remote: netip.AddrPortFrom(remote.Addr(), uint16(age)), Origin: "inside", Age: time.Duration(age) * time.Minute})
	}
	f.sessions = append(f.sessions, datapath.Session{Protocol: model.TCP, Private: inside, External: out, Remote: remote, Origin: "pool", Name: 7, Tentative: true},
		datapath.Session{Protocol: model.TCP, Private: inside, External: out, Remote: remote, Origin: "pool", Name: 7, Age: 90 * time.Second})
	for query, want := range map[string]string{
		"last=3":                        "open 203.0.113.7:443 10.0.0.1:5000hosta.example. www.hosta.example.DE|open 10.0.0.1:5000hosta.example. 203.0.113.7:1 DE|open 10.0.0.1:5000hosta.example. 203.0.113.7:0 DE",
		"last=9 to=www.hosta.example":   "open 203.0.113.7:443 10.0.0.1:5000hosta.example. www.hosta.example.DE",
		"last=1 from=hosta.example":     "open 10.0.0.1:5000hosta.example. 203.0.113.7:0 DE",
		"last=1 from=203.0.113.0/24":    "open 203.0.113.7:443 10.0.0.1:5000hosta.example. www.hosta.example.DE",
		"last=9 country=fr":             "",
		"last=9 verdict=dropped":        "",
		"last=9 name=www.hosta.example": "open 203.0.113.7:443 10.0.0.1:5000hosta.example. www.hosta.example.DE",
		"last=9 host=hostb.example":     "",
		"last=1 host=hosta.example":     "open 10.0.0.1:5000hosta.example. 203.0.113.7:0 DE",
		"last=9 reason=drop_denied":     "",
		"last=0":                        "",
	} {
		var r api.ObserveRequest
		for one := range strings.FieldsSeq(query) {
			key, value, _ := strings.Cut(one, "=")
			if err := r.Set(key, value); err != nil {
				t.Fatal(err)
			}
		}
		var got []string
		err := s.Observe(t.Context(), r, func(flows []api.Flow) bool {
			for _, f := range flows {
				got = append(got, short(f))
			}
			return true
		})
		if text := strings.Join(got, "|"); err != nil || text != want {
			t.Errorf("%s: %v\n got %s\nwant %s", query, err, text, want)
		}
	}
}

// Who began a flow is first, whichever side it is; by a pact there is no address that it goes by.
func TestWhoBegan(t *testing.T) {
	t.Parallel()
	_, s := newFake()
	none := netip.AddrPortFrom(netip.IPv4Unspecified(), 80)
	for origin, want := range map[string]string{
		"inside": "10.0.0.1:5000 > 203.0.113.7:443 via 192.0.2.1:5000", "pool": "203.0.113.7:443 > 10.0.0.1:5000 via 192.0.2.1:5000",
		"edge_out": "10.0.0.1:5000 > 203.0.113.7:443", "edge_in": "203.0.113.7:443 > 10.0.0.1:5000",
	} {
		via := out
		if strings.HasPrefix(origin, "edge") {
			via = none
		}
		got := s.session(datapath.FlowEvent{Protocol: model.TCP, Private: inside, External: via, Remote: remote, Origin: origin})
		text := fmt.Sprint(got.From, " > ", got.To)
		if got.Via.IsValid() {
			text += fmt.Sprint(" via ", got.Via)
		}
		if text != want {
			t.Errorf("%s: %s, want %s", origin, text, want)
		}
	}
}

// Who follows hears what becomes of flows and is dropped, as it is wanted; who is slow is told how many it has not seen.
func TestFollow(t *testing.T) {
	t.Parallel()
	f, s := newFake()
	ctx, cancel := context.WithCancel(t.Context())
	r := api.ObserveRequest{Follow: true}
	shown, go1, over := make(chan api.Flow, 3*behind), make(chan bool), make(chan error)
	go func() {
		over <- s.Observe(ctx, r, func(flows []api.Flow) bool {
			for _, one := range flows {
				shown <- one
				if one.Event == "new" && one.To == remote {
					<-go1
				}
			}
			return true
		})
	}()
	w := <-f.watched
	event := datapath.FlowEvent{At: datapath.Now(), Told: datapath.SessionBegins, Protocol: model.TCP, Private: inside, External: out, Remote: remote, Origin: "inside", State: "syn"}
	w.Session(event)
	w.Heard()
	if got := short(<-shown); got != "new 10.0.0.1:5000hosta.example. 203.0.113.7:443 DE" {
		t.Errorf("heard %q", got)
	}
	event.Told = datapath.SessionChanges // while it sleeps
	for range behind + 5 {
		w.Session(event)
	}
	w.Heard()
	go1 <- true
	for i := range behind {
		if got := <-shown; got.Event != "update" || got.Lost != 0 {
			t.Fatalf("flow %d: %+v", i, got)
		}
	}
	w.Drop(datapath.DropEvent{At: datapath.Now(), Reason: "drop_denied", Side: "public", Tuple: model.Tuple{Protocol: model.TCP, Source: remote, Destination: out}})
	w.Heard()
	if got := <-shown; short(got) != "drop 203.0.113.7:443 192.0.2.1:5000 drop_deniedDE" || got.Lost != 5 || got.Verdict != "dropped" {
		t.Errorf("heard %q, %d lost", short(got), got.Lost)
	}
	cancel()
	if err := <-over; err != nil {
		t.Error(err)
	}
	<-f.ended
	for verdict, want := range map[string][2]bool{"forwarded": {true, false}, "dropped": {false, true}, "": {true, true}} {
		w := newObserver(s, api.ObserveRequest{Verdict: verdict}).watch()
		if got := [2]bool{w.Session != nil, w.Drop != nil}; got != want {
			t.Errorf("for verdict %q it watches sessions and drops: %v", verdict, got)
		}
	}
}
