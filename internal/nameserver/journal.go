package nameserver

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/miekg/dns"

	"github.com/realmgate/realmgate/internal/model"
)

// Store keeps what of the zones must outlive the process.
type Store interface {
	// Load returns what was saved last; the zero State if nothing was.
	Load() (State, error)
	// Save replaces it, whole or not at all, and returns when it is durable.
	Save(State) error
}

// State is what of the zones changes between reloads.
type State struct {
	Zones map[model.Name]ZoneState `json:"zones"`
}

// ZoneState is a zone's part.
type ZoneState struct {
	Serial     uint32   `json:"serial"`
	Digest     string   `json:"digest"`               // of what the serial stands for
	Challenges []string `json:"challenges,omitempty"` // TXT records of _acme-challenge names
}

// Journal holds the zones' serials and challenges. Public writes it; Public and
// Private answer from it. It is safe for concurrent use.
type Journal struct {
	mu    sync.Mutex // for writers
	store Store      // nil: nothing outlives the process
	state State
	live  map[model.Name]*atomic.Pointer[edition]
}

// edition is a zone's part as it is read: never changed.
type edition struct {
	serial     uint32
	known      bool                // the serial is: the zone was published
	challenges map[string][]dns.RR // by name in canonical form
	inner      map[string]bool     // names above those, within the zone
}

// NewJournal takes up what the store has. Without a store serials begin anew
// with each process, which is right where nobody copies the zones.
func NewJournal(store Store) (*Journal, error) {
	j := &Journal{store: store, state: State{Zones: map[model.Name]ZoneState{}}, live: map[model.Name]*atomic.Pointer[edition]{}}
	if store == nil {
		return j, nil
	}
	state, err := store.Load()
	if err != nil {
		return nil, fmt.Errorf("read the serials and challenges of the zones: %w", err)
	}
	for name, z := range state.Zones {
		records, err := readChallenges(name, z.Challenges)
		if err != nil {
			return nil, err
		}
		j.state.Zones[name] = z
		j.of(name).Store(newEdition(name, z, records))
	}
	return j, nil
}

func readChallenges(zone model.Name, lines []string) ([]dns.RR, error) {
	var records []dns.RR
	for _, line := range lines {
		rr, err := dns.NewRR(line)
		if txt, ok := rr.(*dns.TXT); err != nil || !ok || !dns.IsSubDomain(string(zone), txt.Hdr.Name) {
			return nil, fmt.Errorf("read the challenges of the zone %s: %q is no TXT record of it", zone, line)
		}
		records = append(records, rr)
	}
	return records, nil
}

func newEdition(zone model.Name, state ZoneState, records []dns.RR) *edition {
	e := &edition{serial: state.Serial, known: state.Digest != "", challenges: map[string][]dns.RR{}, inner: map[string]bool{}}
	for _, rr := range records {
		name := dns.CanonicalName(rr.Header().Name)
		e.challenges[name] = append(e.challenges[name], rr)
		for name = parentOf(name); name != string(zone) && name != "."; name = parentOf(name) {
			e.inner[name] = true
		}
	}
	return e
}

// of is where a zone's edition is read. It stays the same for the journal's life.
func (j *Journal) of(zone model.Name) *atomic.Pointer[edition] {
	p, ok := j.live[zone]
	if !ok {
		p = &atomic.Pointer[edition]{}
		p.Store(&edition{})
		j.live[zone] = p
	}
	return p
}

// reader is of for those who do not hold the lock.
func (j *Journal) reader(zone model.Name) *atomic.Pointer[edition] {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.of(zone)
}

// publish notes what the zone's next serial stands for. The serial stays while
// the digest does, over restarts too; else it is raised. It is the file's where
// that is later (0: there is none), and begins with first. On an error it holds
// for this process only.
func (j *Journal) publish(zone model.Name, digest string, first, file uint32) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	z := j.state.Zones[zone]
	switch known := z.Digest != ""; {
	case known && z.Digest == digest && (file == 0 || !later(file, z.Serial)):
		return nil
	case known:
		z.Serial = next(z.Serial)
	default:
		z.Serial = first
	}
	if file != 0 && later(file, z.Serial) {
		z.Serial = file
	}
	z.Digest = digest
	records := j.of(zone).Load().records()
	err := j.save(zone, z)
	j.put(zone, z, records)
	return err
}

// change replaces the zone's challenges and raises its serial. digest is of the
// zone with them. What was answered holds after a crash (RFC 2136 §3.5), so on an
// error nothing changes.
func (j *Journal) change(zone model.Name, records []dns.RR, digest string) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	z := j.state.Zones[zone]
	z.Serial, z.Digest, z.Challenges = next(z.Serial), digest, nil
	for _, rr := range records {
		z.Challenges = append(z.Challenges, rr.String())
	}
	if err := j.save(zone, z); err != nil {
		return err
	}
	j.put(zone, z, records)
	return nil
}

// next is the serial after one; 0 is passed over, as some take it for none.
func next(serial uint32) uint32 { return max(serial+1, 1) }

func (j *Journal) save(zone model.Name, z ZoneState) error {
	if j.store == nil {
		return nil
	}
	state := State{Zones: maps.Clone(j.state.Zones)}
	state.Zones[zone] = z
	if err := j.store.Save(state); err != nil {
		return fmt.Errorf("save the serial and challenges of the zone %s: %w", zone, err)
	}
	return nil
}

func (j *Journal) put(zone model.Name, z ZoneState, records []dns.RR) {
	j.state.Zones[zone] = z
	j.of(zone).Store(newEdition(zone, z, records))
}

// records are all challenges, in the order of their names.
func (e *edition) records() []dns.RR {
	var records []dns.RR
	for _, name := range slices.Sorted(maps.Keys(e.challenges)) {
		records = append(records, e.challenges[name]...)
	}
	return records
}
