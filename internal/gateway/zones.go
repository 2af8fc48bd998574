package gateway

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"github.com/realmgate/realmgate/internal/config"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/names/zone"
	"github.com/realmgate/realmgate/internal/nameserver"
	"github.com/realmgate/realmgate/internal/registry"
	"github.com/realmgate/realmgate/internal/store"
)

// zonesOf are the zones with what their files say, and the names that exist by those.
func zonesOf(d *config.Document) (zones []nameserver.Zone, owners []model.Name, err error) {
	for _, z := range d.Config.Realm.Zones {
		made := nameserver.Zone{Name: z.Name, Updaters: z.ACME}
		for _, s := range z.Secondaries {
			made.Secondaries = append(made.Secondaries, nameserver.Secondary{Address: s.Address, Key: s.Key})
		}
		if z.File != "" {
			if made.Data, err = zone.Parse(strings.NewReader(z.Text), z.Name, z.Path(d.File())); err != nil {
				return nil, nil, err
			}
			for record := range made.Data.Records() {
				owners = append(owners, model.Name(record.Header().Name))
			}
		}
		zones = append(zones, made)
	}
	return zones, owners, nil
}

// namesIn are the zones of a document and the registry of its hosts, which fit each other.
func namesIn(d *config.Document) ([]nameserver.Zone, *registry.Registry, error) {
	zones, owners, err := zonesOf(d)
	if err != nil {
		return nil, nil, err
	}
	r, err := newRegistry(d.Config, owners)
	if err != nil {
		return nil, nil, err
	}
	return zones, r, checkZones(d.Config, zones, r)
}

// checkNames says whether zones, hosts and keys can be served.
func checkNames(d *config.Document) error {
	_, _, err := namesIn(d)
	_, keysErr := signingKeys(d.Config)
	return errors.Join(err, keysErr)
}

// checkZones says what in the zones' files contradicts what is lent by name.
func checkZones(c *config.Config, zones []nameserver.Zone, r *registry.Registry) error {
	var errs []error
	pool := make(map[netip.Addr]bool, len(c.Pool.Addresses))
	for _, a := range c.Pool.Addresses {
		pool[a] = true
	}
	for _, z := range zones {
		errs = append(errs, zone.Check(z.Data, z.Name, zone.Realm{
			Lent: r.Lent(z.Name), Nameserver: c.Realm.Nameserver, Address: c.DNS.Public.Addr(), Secondaries: len(z.Secondaries) > 0,
			Pool: pool,
		}))
	}
	return errors.Join(errs...)
}

// signingKeys are the keys that secondaries and ACME clients sign with.
func signingKeys(c *config.Config) ([]nameserver.Key, error) {
	keys := make([]nameserver.Key, 0, len(c.DNS.Keys))
	for i, k := range c.DNS.Keys {
		key, err := nameserver.NewKey(k.Name, k.Algorithm, k.Secret)
		if err != nil {
			return nil, fmt.Errorf("dns.keys[%d]: %w", i, err)
		}
		keys = append(keys, key)
	}
	return keys, nil
}

// httpsOf are the HTTPS records of configured names.
func httpsOf(c *config.Config) map[model.Name]*nameserver.HTTPS {
	records := map[model.Name]*nameserver.HTTPS{}
	for _, h := range c.Hosts {
		for _, s := range h.Services {
			if s.HTTPS == nil {
				continue
			}
			for _, name := range s.Names {
				records[name] = &nameserver.HTTPS{Port: s.HTTPS.Port, ALPN: s.HTTPS.ALPN}
			}
		}
	}
	return records
}

// What the store keeps for the name servers.
const (
	namesBucket = "names"
	zonesKey    = "zones"  // serials and challenges
	cookieKey   = "cookie" // the secrets of DNS cookies
)

// zoneStore keeps serials and challenges in the instance's file. It is a nameserver.Store.
type zoneStore struct{ *store.Store }

// Load implements nameserver.Store.
func (s zoneStore) Load() (state nameserver.State, err error) {
	text, err := keptName(s.Store, zonesKey)
	if err == nil && text != nil {
		err = json.Unmarshal(text, &state)
	}
	return state, err
}

// Save implements nameserver.Store.
func (s zoneStore) Save(state nameserver.State) error {
	text, err := json.Marshal(state)
	if err != nil {
		return fmt.Errorf("write the zones' state: %w", err)
	}
	return s.Change(namesBucket, map[string][]byte{zonesKey: text}, nil)
}

func keptName(s *store.Store, wanted string) (found []byte, err error) {
	err = s.Each(namesBucket, func(key string, value []byte) error {
		if key == wanted {
			found = append([]byte(nil), value...)
		}
		return nil
	})
	return found, err
}
