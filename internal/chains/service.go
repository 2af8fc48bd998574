package chains

import (
	"log/slog"
	"sync"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/config"
	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/events/event"
	"github.com/realmgate/realmgate/internal/ruleset"
	"github.com/realmgate/realmgate/internal/ruleset/settings"
)

// InForce is what packets are judged by.
type InForce struct {
	Document   *config.Document // with what commands changed
	Saved      []settings.Chain // its chains as the file has them
	Generation uint32
	Numbers    ruleset.Numbers // of functions
	// Backends are those of a function; nil for one that has none.
	Backends func(function string) []api.Backend
}

// Options are what a Service needs.
type Options struct {
	File     string      // of the configuration
	Changing sync.Locker // held while another configuration comes into force
	InForce  func() InForce
	// Put puts a document into force, as a reload would. Under Changing, and so is SetSaved, which says that the file has
	// the chains in force, by whose request.
	Put      func(*config.Document) error
	SetSaved func(by string)
	// Counts is what functions did, by number.
	Counts func() ([]datapath.Count, error)
	Events interface{ Emit(event.Event) }
	Log    *slog.Logger
}

// Service is what the control socket asks about chains. Call New.
type Service struct{ options Options }

// New makes a service.
func New(o Options) *Service { return &Service{options: o} }
