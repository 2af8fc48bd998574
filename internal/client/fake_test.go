package client

import (
	"context"
	"errors"
	"net/http"
	"net/netip"
	"time"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/model"
)

// fakeGateway echoes the filter of a listing in what it lists.
type fakeGateway struct {
	sessions int
	err      error
	started  time.Time
}

func (g fakeGateway) Status() (Status, error) {
	return Status{Instance: "lab", Started: g.started, Sessions: Gauge{Used: 1, Capacity: 2}}, g.err
}
func (g fakeGateway) ServeMetrics(http.ResponseWriter, *http.Request) {}

func (g fakeGateway) Handover() (Handover, error) { return Handover{Sessions: 3}, g.err }

func (g fakeGateway) Reload(r api.ReloadRequest) (Reload, error) {
	return Reload{Generation: 7, Hosts: 2, Confirm: r.Confirm}, g.err
}

func (g fakeGateway) Pool(f Filter) ([]Binding, error) {
	return []Binding{{Address: f.Address, Host: f.Host}}, g.err
}

func (g fakeGateway) Hosts(f Filter) ([]Host, error) {
	return []Host{{Name: f.Host, Address: f.Address, Open: []model.Port{{}}, Services: []Service{{
		Names: []string{f.Host}, Ports: []model.Port{{Protocol: f.Protocol, Port: f.Port, To: 8080}},
	}}}}, g.err
}

func (g fakeGateway) Listing(name string, f Filter) (any, error) {
	return []api.Name{{Service: name, Address: f.Address, Host: f.Host}}, g.err
}

func (g fakeGateway) Ready(context.Context) error { return g.err }

func (g fakeGateway) Country(netip.Addr) string { return "" }

func (g fakeGateway) Chains() ([]Chain, error) {
	return []Chain{{Name: "web", Match: []map[string]string{{"direction": "in"}}, Functions: []Function{{Name: "filter", Seen: 1 << 60}}}}, g.err
}

func (g fakeGateway) InsertFunction(r ChainRequest) (ChainChange, error) {
	return ChainChange{Generation: 1, Chain: r.Chain, Functions: []string{r.Function, r.Before}}, g.err
}

func (g fakeGateway) RemoveFunction(r ChainRequest) (ChainChange, error) {
	return ChainChange{Generation: 2, Chain: r.Chain, Functions: []string{r.Function}}, g.err
}

func (g fakeGateway) MoveFunction(r ChainRequest) (ChainChange, error) {
	return ChainChange{Generation: uint32(*r.Priority), Chain: r.Chain, Functions: []string{r.Function}}, g.err
}

func (g fakeGateway) SaveChains(api.Request) (ChainsSaved, error) {
	return ChainsSaved{Config: "a.yaml", Chains: []string{"web"}}, g.err
}

func (g fakeGateway) Bans() ([]Ban, error) {
	return []Ban{{Prefix: netip.MustParsePrefix("203.0.113.0/24"), Since: g.started}}, g.err
}

func (g fakeGateway) Jails() ([]Jail, error) {
	return []Jail{{Name: "ssh", Command: []string{"/bin/a", "-b"}, Lines: 7, Error: "c"}}, g.err
}

func (g fakeGateway) Events() ([]Sink, error) {
	return []Sink{{Name: "siem", Command: []string{"/bin/a", "-b"}, Delivered: 7, Lost: 3, Error: "c"}}, g.err
}

func (g fakeGateway) AddBans(r BanRequest) (BanChange, error) {
	if r.Seconds != 60 {
		return BanChange{}, errors.New("another time")
	}
	return BanChange{Prefixes: len(r.Prefixes)}, g.err
}

func (g fakeGateway) Lists() ([]List, error) {
	return []List{{Name: "drop", Source: "https://lists.example/drop.txt", Entries: 3, Fetched: g.started}}, g.err
}

func (g fakeGateway) RefreshLists(r ListRequest) (ListChange, error) {
	return ListChange{Lists: len(r.Lists)}, g.err
}

func (g fakeGateway) RemoveBans(r BanRequest) (BanChange, error) {
	return BanChange{Prefixes: len(r.Prefixes), Wider: r.Prefixes[1:]}, g.err
}

func (g fakeGateway) Explain(r ExplainRequest) (Explanation, error) {
	return Explanation{From: r.Address, To: r.ToName.String(), Steps: []ExplainStep{}, Ending: Ending{Reason: "drop_denied", Function: "a/b"}}, g.err
}

func (g fakeGateway) Sessions(f Filter, after uint32, visit func(Session) bool) error {
	for n := after; n < uint32(g.sessions); n++ {
		if !visit(Session{Number: n + 1, Protocol: f.Protocol, Private: netip.AddrPortFrom(f.Address, f.Port), Host: f.Host}) {
			return nil
		}
	}
	return g.err
}

func (g fakeGateway) EndSessions(f Filter) (int, error) {
	if f != filter {
		return 0, errors.New("another filter")
	}
	return g.sessions, g.err
}

func (g fakeGateway) Drops(ctx context.Context, f Filter, visit func(Drop) bool) error {
	for ctx.Err() == nil {
		if !visit(Drop{Reason: "drop_filtered", Host: f.Host, Tuple: model.Tuple{Protocol: f.Protocol}}) {
			break
		}
	}
	return g.err
}

func (g fakeGateway) Capture(ctx context.Context, r CaptureRequest, started func(), visit func([]Packet) bool) error {
	if r != request {
		return api.Absent("another request")
	}
	started()
	for ctx.Err() == nil {
		if !visit([]Packet{packet, packet}) {
			break
		}
	}
	return g.err
}

func (g fakeGateway) CaptureDrops(ctx context.Context, started func(), visit func([]Packet) bool) error {
	return g.Capture(ctx, request, started, visit)
}

func (g fakeGateway) Tokens() ([]api.Token, error) {
	return []api.Token{{Name: "prometheus", Role: api.Read}}, g.err
}

func (g fakeGateway) CreateToken(r api.TokenRequest) (api.TokenMade, error) {
	return api.TokenMade{Token: api.Token{Name: r.Name, Role: r.Role}, Secret: "rg_a"}, g.err
}

func (g fakeGateway) RevokeToken(r api.TokenName) (api.Token, error) {
	return api.Token{Name: r.Name, Role: api.Read}, g.err
}

func (g fakeGateway) Listen(api.Caller, []string, string) (api.Listener, error) {
	return nil, errors.New("nobody tells")
}

func (g fakeGateway) PoolMap() (api.PoolMap, error) { return api.PoolMap{}, g.err }

func (g fakeGateway) Lately(int, ...string) []api.Message { return nil }

func (g fakeGateway) Trace(_ context.Context, r api.TraceRequest) (Traced, error) {
	return Traced{Users: []TraceUser{{Protocol: r.Protocol, External: netip.AddrPortFrom(r.Address, r.Port), Since: r.At, By: "mapping"}}, Begins: r.At}, g.err
}

func (g fakeGateway) Observe(_ context.Context, r api.ObserveRequest, visit func([]api.Flow) bool) error {
	visit([]api.Flow{{Event: "new", Protocol: model.TCP, Name: r.Name}, {Event: "destroy", Protocol: model.TCP, Name: r.Name}})
	return g.err
}
