package natlog

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/natlog/settings"
)

// Trace implements api.LogCommands.
func (s *Service) Trace(ctx context.Context, r api.TraceRequest) (api.Traced, error) {
	s.mutex.Lock()
	sinks := s.config.Sinks
	s.mutex.Unlock()
	i := slices.IndexFunc(sinks, func(k settings.Sink) bool { return k.Directory != "" })
	if i < 0 {
		return api.Traced{}, api.WithRemedy(api.Absent("nothing is logged into files"), "give log a sink with a directory, and reload")
	}
	select {
	case s.tracing <- struct{}{}: // one at a time: a long one takes a core
		defer func() { <-s.tracing }()
	case <-ctx.Done():
		return api.Traced{}, fmt.Errorf("wait for another trace to end: %w", context.Cause(ctx))
	}
	f := &folder{path: sinks[i].Directory}
	said, err := f.between(ctx, query{r.Address, r.Port, r.Protocol, r.At}, r.Until)
	if err != nil {
		return api.Traced{}, err
	}
	if len(said.users) == 0 && !mapped[r.Protocol] {
		err := fmt.Errorf("nobody knows: outbound addresses have no mappings of %s, and the log has none", r.Protocol)
		return api.Traced{}, api.WithRemedy(err, "ask about tcp, udp or icmp")
	}
	return said.answer(), nil
}

// mapped are the protocols of which an outbound address has mappings. What others use of it is in no line.
var mapped = map[model.Protocol]bool{model.AnyProtocol: true, model.TCP: true, model.UDP: true, model.ICMP: true}

func (f found) answer() api.Traced {
	traced := api.Traced{Users: []api.TraceUser{}, Begins: f.first, Lost: f.lost, Gap: f.gap, More: f.more}
	for _, u := range f.users {
		traced.Users = append(traced.Users, u.answer())
	}
	return traced
}

func (u user) answer() api.TraceUser {
	r := u.record
	by := "mapping"
	if r.Kind == AddressLent || r.Kind == AddressStands {
		by = "pool"
	}
	return api.TraceUser{
		Protocol: r.Protocol, External: r.External, Private: r.Private, Host: r.Host, Name: r.Name, By: by,
		Since: r.Time.UTC(), Earlier: r.Kind.stands(), Until: utc(u.until), Synchronised: r.Synchronised,
	}
}

func utc(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return t.UTC()
}
