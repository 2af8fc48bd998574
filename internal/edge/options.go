package edge

import (
	"log/slog"
	"net/netip"
	"time"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/events/event"
	"github.com/realmgate/realmgate/internal/model"
)

// Plane carries packets between edges. *datapath.Datapath is one.
type Plane interface {
	// SetEdges says where packets of edges are met; the zero value is nowhere.
	SetEdges(datapath.Edges) error
	// Edges is what SetEdges has said last, an earlier daemon's too.
	Edges() (datapath.Edges, error)
	PutEdgeLink(datapath.EdgeLink) error
	PutEdgeKey(number uint32, out bool, epoch uint8, key [16]byte) error
	EndEdgeLink(number uint32) error
	EdgeLinks(visit func(datapath.EdgeLink) bool) error
	PutPact(datapath.Pact) error
	ChangePact(datapath.Pact) error
	// EndPacts returns when no packet passes by them any more.
	EndPacts(own ...uint32) error
	Pacts(visit func(datapath.Pact) bool) error
}

// Names are those of a configuration's realm.
type Names interface {
	// Reverse is the name of the host that has an address.
	Reverse(netip.Addr) (model.Name, bool)
	// Reach is where a name leads, and what it opens from outside; the zero port is everything.
	Reach(model.Name) (host netip.Addr, open []model.Port, known bool)
}

// Emitter hears what happens.
type Emitter interface{ Emit(event.Event) }

// Store keeps what outlives a restart. *store.Store is one.
type Store interface {
	Change(bucket string, put map[string][]byte, remove []string) error
	Each(bucket string, visit func(key string, value []byte) error) error
}

// Options are what a Service needs.
type Options struct {
	Plane  func() Plane
	Events Emitter
	Keeps  func() bool // whether the data plane outlives us
	Now    func() model.Instant
	Listen Listen
	Dial   Dial
	Tunnel Tunnel
	Retry  time.Duration // of Listen and Tunnel
	Log    *slog.Logger
}
