package flow

import (
	"log/slog"
	"net/netip"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/model"
)

// Data is the data plane as far as flows need it. *datapath.Datapath is one.
type Data interface {
	SessionsAfter(after uint32, visit func(datapath.Session) bool) error
	Watch(*datapath.Watch) error
	Unwatch(*datapath.Watch)
	EndAll() (int, error)
	EndSessions(wanted func(datapath.Session) bool) (int, error)
}

// Names say who has an address, and what a session was asked for by; empty: nobody knows.
type Names interface {
	HostOf(addresses ...netip.Addr) string
	Name(number uint32) model.Name
}

// Options are what a Service needs.
type Options struct {
	Names   func() Names            // in force
	Country func(netip.Addr) string // where an address is; empty: nobody knows
	Log     *slog.Logger
}

// Service lists and ends sessions, and tells of flows. Call New.
type Service struct {
	Options
	data      Data // from Open on
	observers observers
	heard     last[datapath.FlowEvent]
	dropped   last[dropKey]
}

// New makes one.
func New(o Options) *Service {
	return &Service{Options: o, observers: observers{places: api.Places{Most: mostObservers, Kept: keptObservers}}}
}

// Open says where the sessions are, before all else.
func (s *Service) Open(data Data) { s.data = data }

// Sessions implements api.SessionCommands.
func (s *Service) Sessions(filter api.Filter, after uint32, visit func(api.Session) bool) error {
	names := s.Names()
	return s.data.SessionsAfter(after, func(d datapath.Session) bool {
		session := describe(d, names)
		return !filter.MatchSession(session) || visit(session)
	})
}

// EndSessions implements api.SessionCommands.
func (s *Service) EndSessions(filter api.Filter) (n int, err error) {
	if filter == (api.Filter{}) {
		n, err = s.data.EndAll()
	} else {
		names := s.Names()
		n, err = s.data.EndSessions(func(d datapath.Session) bool { return filter.MatchSession(describe(d, names)) })
	}
	s.Log.Info("sessions ended by command", "sessions", n, "filter", filter.Query().Encode())
	return n, err
}

func describe(s datapath.Session, names Names) api.Session {
	return api.Session{
		Number: s.Number(), Protocol: s.Protocol, Private: s.Private, External: s.External, Remote: s.Remote, State: s.State,
		Origin: s.Origin, Host: names.HostOf(s.Private.Addr()), Name: string(names.Name(s.Name)), Hairpin: s.Hairpin,
		Age: s.Age.Seconds(), Idle: s.Idle.Seconds(),
	}
}
