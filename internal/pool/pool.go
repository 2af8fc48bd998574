package pool

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"net/netip"

	"github.com/realmgate/realmgate/internal/model"
)

// What Bind and Reserve can fail with. Callers compare with errors.Is.
var (
	// ErrExhausted: no address can take the service now.
	ErrExhausted = errors.New("pool exhausted")
	// ErrHalfOpen and ErrHalfOpenHost: the quota of standing reservations is used up.
	ErrHalfOpen     = errors.New("half-open quota reached")
	ErrHalfOpenHost = errors.New("half-open quota of the host reached")
	// ErrRests: as many addresses as may be rest for what the service's host was before, under other names.
	ErrRests = errors.New("its host's earlier names rest")
	// ErrFull: Options.Capacity reservations or Options.Bindings bindings are in the pool.
	ErrFull = errors.New("pool table full")
	// ErrRequest: no such service stands, or for a reservation, it is not bound.
	ErrRequest = errors.New("impossible request")
)

// Pool is the circular pool. The zero value is of no use: call New.
type Pool struct {
	*bindings
	*finder
	Reservations *Reservations

	order      []*Service // as SetServices was given
	registered int        // services that come and go one by one
}

// New makes an empty pool without services.
func New(o Options) (*Pool, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	// A late report that names a record of an earlier process must not meet one of ours, so numbers begin at random.
	var start [8]byte
	_, _ = rand.Read(start[:]) // never fails
	bs := &bindings{
		options: o,
		places:  newPlaces(o.Addresses),
		number:  binary.LittleEndian.Uint32(start[:4]),
		bound:   map[model.Name]int32{},
		resting: restsOf{},
	}
	bs.counts.places.Store(bs.places.tally)
	return &Pool{
		bindings: bs,
		finder:   newFinder(bs),
		Reservations: &Reservations{
			bindings: bs, generation: binary.LittleEndian.Uint32(start[4:]),
			asked: map[askedKey]int32{}, halfOpen: map[netip.Addr]int{},
		},
	}, nil
}

// Statistics returns the counts. Unlike all else it may be called by anybody at any time, also while the pool changes.
func (p *Pool) Statistics() Statistics { return p.counts.read() }
