package access

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/realmgate/realmgate/internal/access/settings"
	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/lifecycle"
)

// Options are what a Service needs.
type Options struct {
	Socket string // of the control API; empty: nobody can ask by it
	// Serve is the API, for whom identify knows.
	Serve  func(identify api.Identify) http.Handler
	Events Events
	Log    *slog.Logger
}

// Service keeps the access that is in force. Call New.
type Service struct {
	Options
	*tokens
	listeners lifecycle.Workers[listeners, *listener]
	serving   sync.WaitGroup // listeners
	logins    *logins
	// endClients ends what is asked by certificates; nil before a configuration is in force.
	endClients context.CancelFunc
	now        atomic.Pointer[api.Access]
	secrets    atomic.Pointer[certificates] // in force; nil: there is no TLS
}

// listeners are those of a configuration, by their addresses.
type listeners map[string]*listener

// New makes one for a control socket, by which only root may ask yet.
func New(o Options) *Service {
	s := &Service{Options: o, tokens: newTokens(o.Log)}
	s.logins = newLogins(s.tokens, o.Events, o.Log)
	s.listeners = lifecycle.Workers[listeners, *listener]{
		Start: func(ctx context.Context, d *listener) { d.start(ctx) }, End: (*listener).close, Close: (*listener).close,
	}
	s.now.Store(&api.Access{})
	return s
}

// Now is the access to the socket in force.
func (s *Service) Now() api.Access { return *s.now.Load() }

// Open is Prepare of a start, after which tokens are known.
func (s *Service) Open(kept Store, c settings.API) (lifecycle.Change, error) {
	if err := s.open(kept); err != nil {
		return lifecycle.Change{}, err
	}
	return s.Prepare(true, c)
}

// Prepare reads the groups of the machine and listens where the configuration says, where it is read.
func (s *Service) Prepare(read bool, c settings.API) (lifecycle.Change, error) {
	if !read {
		return lifecycle.Change{}, nil
	}
	next, err := api.GroupAccess()
	if err != nil {
		return lifecycle.Change{}, err
	}
	listening, err := s.prepareListeners(c)
	if err != nil {
		return lifecycle.Change{}, err
	}
	before := s.Now()
	return lifecycle.Change{
		Commit:   func() error { return s.put(next) },
		Rollback: func() error { return s.put(before) },
		Settle:   listening.Settle, Discard: listening.Discard,
	}, nil
}

// prepareListeners opens those that are new, and configures all when the change settles.
func (s *Service) prepareListeners(c settings.API) (lifecycle.Change, error) {
	var secrets *certificates
	var err error
	if c.Certificate != "" {
		if secrets, err = openCertificates(c.Certificate, c.Key, c.ClientCA, s.Log); err != nil {
			return lifecycle.Change{}, err
		}
	}
	made, change := s.listeners.Prepare(func(before listeners) listeners {
		next := listeners{}
		for _, at := range c.Listen {
			d := before[at.String()]
			if d == nil && err == nil {
				d, err = openListener(at, &s.serving, s.Log)
			}
			if d != nil {
				next[at.String()] = d
			}
		}
		return next
	})
	if err != nil {
		change.Discard()
		return lifecycle.Change{}, err
	}
	settle := change.Settle
	change.Settle = func() {
		if s.endClients != nil {
			s.endClients() // what is asked by a certificate ends: it may have another role now, or none
		}
		holds, end := context.WithCancel(context.Background())
		s.endClients = end
		h := s.Serve(s.logins.identify(holds, c.Clients))
		for _, d := range made {
			d.configure(api.ForUs(h, names(d.at.Addr(), c)), secrets)
		}
		s.secrets.Store(secrets)
		settle()
	}
	return change, nil
}

// Run serves at the addresses of the configuration in force until ctx ends.
func (s *Service) Run(ctx context.Context) error { return s.listeners.Run(ctx) }

// Stop gives the addresses up, and waits for what is asked there.
func (s *Service) Stop() error {
	defer s.serving.Wait()
	return s.listeners.Stop()
}

func (s *Service) put(access api.Access) error {
	if s.Socket != "" {
		if err := api.Open(s.Socket, access); err != nil {
			return err
		}
	}
	s.now.Store(&access)
	return nil
}
