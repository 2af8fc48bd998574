package allocation

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"time"

	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/pool"
)

// Bucket of the store's file. Its keys are pool addresses; one that is not there is free.
const bucket = "bindings"

// keptBinding is a binding on the disk. Times are not kept: after a restart without the data plane it counts as used just then.
type keptBinding struct {
	Service model.Name `json:"service"`
	Owner   model.Name `json:"owner"`
	// Identity is who that is, whatever its name.
	Identity string       `json:"identity,omitempty"`
	Client   bool         `json:"client,omitempty"` // of a lease
	Zones    []model.Name `json:"zones"`
	Host     netip.Addr   `json:"host"`
	Ports    []model.Port `json:"ports"`
	// Resting: no service has it any more, and nobody but its owner may.
	Resting bool `json:"resting,omitempty"`
	// Until is when the rest is over, for an address that has left the pool: starts must not keep it from all else for
	// ever. What is still of the pool rests by the data plane's clock alone, which nobody sets.
	Until time.Time `json:"until,omitzero"`
}

func keep(b pool.Binding) keptBinding {
	s := b.Service
	return keptBinding{Service: s.Name, Owner: s.Owner, Identity: s.Identity, Client: s.Client, Zones: s.Zones, Host: s.Host, Ports: s.Ports, Resting: b.State == pool.Resting}
}

func (k keptBinding) service() pool.Service {
	return pool.Service{Name: k.Service, Owner: k.Owner, Identity: k.Identity, Client: k.Client, Zones: k.Zones, Host: k.Host, Ports: k.Ports}
}

// Store keeps what outlives a restart. *store.Store is one.
type Store interface {
	Change(bucket string, put map[string][]byte, remove []string) error
	Each(bucket string, visit func(key string, value []byte) error) error
}

// readKept returns the bindings of each address. Addresses whose entry cannot be read are in the map with none:
// nothing is known of them, nor is of those that are listed where the store itself cannot be read to its end. A store that
// was never written has a nil map.
func readKept(s Store, listed []netip.Addr) (map[netip.Addr][]keptBinding, error) {
	var kept map[netip.Addr][]keptBinding
	var faults []error
	err := s.Each(bucket, func(key string, value []byte) error {
		if kept == nil {
			kept = map[netip.Addr][]keptBinding{}
		}
		address, err := netip.ParseAddr(key)
		if err != nil {
			faults = append(faults, fmt.Errorf("%q: %w", key, err))
			return nil
		}
		var bindings []keptBinding
		if err := json.Unmarshal(value, &bindings); err != nil {
			faults = append(faults, fmt.Errorf("%q: %w", key, err))
			bindings = nil
		}
		kept[address] = bindings
		return nil
	})
	if err != nil {
		kept = withUnknown(kept, listed)
	}
	return kept, errors.Join(err, errors.Join(faults...))
}

// withUnknown adds the addresses that are missing, as ones of which nothing is known.
func withUnknown(kept map[netip.Addr][]keptBinding, listed []netip.Addr) map[netip.Addr][]keptBinding {
	all := map[netip.Addr][]keptBinding{}
	for _, address := range listed {
		all[address] = nil
	}
	maps.Copy(all, kept)
	return all
}
