package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"reflect"
	"testing"

	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/schema"
)

var (
	errBroken = errors.New("the table cannot be read")
	faults    = schema.Errors{{File: "a.yaml", Line: 3, Message: "no"}, {File: "a.yaml", Line: 9, Message: "never"}}
)

// fakeGateway answers from its fields. The zero value has nothing to tell.
type fakeGateway struct {
	filter   Filter // of the last listing
	explain  ExplainRequest
	err      error // of every method; of Sessions after its sessions
	sessions []Session
	pool     []Binding
	hosts    []Host
	chains   []Chain
	bans     []Ban
	jails    []Jail
	events   []Sink
	lists    []List
	history  []HistoryEntry
	status   Status
	told     []Told
	listened []string // topics, and the last ID
	drop     func(ctx context.Context, visit func(Drop) bool) error
	capture  func(ctx context.Context, request CaptureRequest, started func(), visit func([]Packet) bool) error
}

func (g *fakeGateway) Status() (Status, error)     { return g.status, g.err }
func (g *fakeGateway) Handover() (Handover, error) { return Handover{Sessions: len(g.sessions)}, g.err }

func (g *fakeGateway) Reload(r ReloadRequest) (Reload, error) {
	return Reload{Generation: 7, Hosts: 2, Confirm: r.Confirm}, g.check(r.Expected)
}

func (g *fakeGateway) Confirm(r Request) (Confirmed, error) {
	return Confirmed{Generation: 7}, g.check(r.Expected)
}

func (g *fakeGateway) ConfigHistory() ([]HistoryEntry, error) { return g.history, g.err }

func (g *fakeGateway) Rollback(r RollbackRequest) (RolledBack, error) {
	return RolledBack{Generation: uint32(r.Number)}, g.check(r.Expected)
}

// check is what goes wrong with a change: generation 7 is in force.
func (g *fakeGateway) check(e Expected) error {
	if err := e.Check(7); err != nil {
		return err
	}
	return g.err
}

func (g *fakeGateway) Config(number int) (Config, error) {
	return Config{Generation: uint32(7 + number), Files: []ConfigFile{{File: "a.yaml", Text: "a: 1\n"}}}, g.err
}

func (g *fakeGateway) ConfigDiff() (ConfigDiff, error) { return ConfigDiff{Generation: 7}, g.err }

func (g *fakeGateway) ServeMetrics(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4")
	_, _ = w.Write([]byte("up 1\n"))
}

func (g *fakeGateway) Pool(f Filter) ([]Binding, error) {
	g.filter = f
	return g.pool, g.err
}

func (g *fakeGateway) Lately(int, ...string) []Message {
	return []Message{{Number: 1, Topic: "bans", Data: []byte(`{"kind":"ban"}`)}}
}

func (g *fakeGateway) PoolMap() (PoolMap, error) {
	return PoolMap{Number: 3, Ranges: []PoolRange{{netip.MustParseAddr("198.18.0.1"), 2}}, States: "fo", Offer: 2, Rest: 60}, g.err
}

func (g *fakeGateway) Hosts(f Filter) ([]Host, error) {
	g.filter = f
	return g.hosts, g.err
}

func (g *fakeGateway) Listing(name string, f Filter) (any, error) {
	g.filter = f
	for _, l := range Listings() {
		if l.Name == name {
			return reflect.MakeSlice(reflect.SliceOf(reflect.TypeOf(l.Row)), 0, 0).Interface(), g.err
		}
	}
	return nil, g.err
}

func (g *fakeGateway) Ready(context.Context) error { return g.err }

// Country knows that documentation (RFC 5737) is in Germany.
func (g *fakeGateway) Country(a netip.Addr) string {
	if a.Is4() {
		return "DE"
	}
	return ""
}

func (g *fakeGateway) Chains() ([]Chain, error) { return g.chains, g.err }

func (g *fakeGateway) InsertFunction(r ChainRequest) (ChainChange, error) {
	return ChainChange{8, r.Chain, []string{r.Function}}, g.check(r.Expected)
}

func (g *fakeGateway) RemoveFunction(r ChainRequest) (ChainChange, error) {
	return ChainChange{8, r.Chain, []string{}}, g.check(r.Expected)
}

func (g *fakeGateway) MoveFunction(r ChainRequest) (ChainChange, error) {
	return ChainChange{8, r.Chain, []string{r.Function}}, g.check(r.Expected)
}

func (g *fakeGateway) SaveChains(r Request) (ChainsSaved, error) {
	return ChainsSaved{"a.yaml", []string{"web"}}, g.check(r.Expected)
}

func (g *fakeGateway) Bans() ([]Ban, error) { return g.bans, g.err }

func (g *fakeGateway) Events() ([]Sink, error) { return g.events, g.err }

func (g *fakeGateway) Jails() ([]Jail, error) { return g.jails, g.err }

func (g *fakeGateway) AddBans(r BanRequest) (BanChange, error) {
	return BanChange{Prefixes: len(r.Prefixes)}, g.err
}

func (g *fakeGateway) RemoveBans(r BanRequest) (BanChange, error) {
	return BanChange{Prefixes: len(r.Prefixes)}, g.err
}

func (g *fakeGateway) Lists() ([]List, error) { return g.lists, g.err }

func (g *fakeGateway) RefreshLists(r ListRequest) (ListChange, error) {
	return ListChange{len(r.Lists)}, g.err
}

func (g *fakeGateway) Explain(r ExplainRequest) (Explanation, error) {
	g.explain = r
	return Explanation{From: r.Address, Ending: Ending{Passes: true}}, g.err
}

func (g *fakeGateway) Sessions(f Filter, after uint32, visit func(Session) bool) error {
	g.filter = f
	for n := int(after); n < len(g.sessions); n++ {
		s := g.sessions[n]
		s.Number = uint32(n) + 1
		if f == (Filter{}) || f.MatchSession(s) {
			if !visit(s) {
				return nil
			}
		}
	}
	return g.err
}

func (g *fakeGateway) EndSessions(f Filter) (int, error) {
	g.filter = f
	return len(g.sessions), g.err
}

func (g *fakeGateway) Drops(ctx context.Context, f Filter, visit func(Drop) bool) error {
	g.filter = f
	return g.drop(ctx, visit)
}

func (g *fakeGateway) Capture(ctx context.Context, request CaptureRequest, started func(), visit func([]Packet) bool) error {
	return g.capture(ctx, request, started, visit)
}

func (g *fakeGateway) CaptureDrops(ctx context.Context, started func(), visit func([]Packet) bool) error {
	return g.capture(ctx, CaptureRequest{}, started, visit)
}

// ask sends one request to the API of g.
func ask(t *testing.T, g Gateway, method, target string) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	handlerOf(g).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), method, target, http.NoBody))
	return w
}

// askLines asks for a list in lines.
func askLines(t *testing.T, g Gateway, target string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, target, http.NoBody)
	r.Header.Set("Accept", "application/x-ndjson")
	w := httptest.NewRecorder()
	handlerOf(g).ServeHTTP(w, r)
	return w
}

// failedLine is the last line of a stream that failed.
func failedLine(detail string) string {
	return fmt.Sprintf(`{"error":{"type":"about:blank","title":"Internal Server Error","status":500,"detail":%q}}`, detail)
}

func session(n int) Session {
	return Session{
		Protocol: model.TCP, Private: netip.AddrPortFrom(netip.MustParseAddr("10.0.0.1"), uint16(n)),
		State: "established", Origin: "inside",
	}
}

func (g *fakeGateway) Tokens() ([]Token, error) {
	return []Token{{Name: "prometheus", Role: Read}}, g.err
}

func (g *fakeGateway) CreateToken(r TokenRequest) (TokenMade, error) {
	return TokenMade{Token: Token{Name: r.Name, Role: r.Role}, Secret: "rg_a"}, g.err
}

func (g *fakeGateway) RevokeToken(r TokenName) (Token, error) {
	return Token{Name: r.Name, Role: Read}, g.err
}

func (g *fakeGateway) Listen(_ Caller, topics []string, last string) (Listener, error) {
	g.listened = append(topics, last)
	return &fakeListener{told: g.told}, g.err
}

// fakeListener hears what a gateway has to tell, and then the end.
type fakeListener struct {
	told   []Told
	closed bool
}

func (l *fakeListener) Next(context.Context) (t Told, err error) {
	if len(l.told) == 0 {
		return t, errBroken
	}
	t, l.told = l.told[0], l.told[1:]
	return t, nil
}

func (l *fakeListener) ID(m Message) string { return fmt.Sprint("e-", m.Number) }
func (l *fakeListener) Close()              { l.closed = true }

// Trace knows of one user.
func (g *fakeGateway) Trace(_ context.Context, r TraceRequest) (Traced, error) {
	return Traced{Users: []TraceUser{{Protocol: model.UDP, External: netip.AddrPortFrom(r.Address, r.Port), Since: r.At}}, Begins: r.At}, g.err
}

// Observe knows of one flow.
func (g *fakeGateway) Observe(_ context.Context, r ObserveRequest, visit func([]Flow) bool) error {
	visit([]Flow{{Event: "open", Verdict: "forwarded", Protocol: model.TCP, Name: fmt.Sprint(r.Last, r.Follow)}})
	return g.err
}
