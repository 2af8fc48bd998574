package realm

import (
	"errors"
	"fmt"
	"hash/fnv"
	"net/netip"
	"strings"
	"time"

	"github.com/realmgate/realmgate/internal/config"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/names/zone"
	"github.com/realmgate/realmgate/internal/nameserver"
	"github.com/realmgate/realmgate/internal/registry"
)

// Realm is the names of a configuration. Call New.
type Realm struct {
	Zones        []nameserver.Zone
	Keys         []nameserver.Key // of secondaries and ACME clients
	Registry     *registry.Registry
	https        map[model.Name]*nameserver.HTTPS
	webAddresses []netip.Addr
	webTTL       time.Duration
	placement    Placement             // nil: all are at the first of these
	names        map[uint32]model.Name // by number
	numbers      map[model.Name]uint32
	registered   *Registered // hosts that come and go; nil: none do
}

// New reads the realm of a document, with the web addresses of now, or says what of it cannot be served.
func New(d *config.Document, web []netip.Addr) (*Realm, error) {
	zones, r, err := namesIn(d)
	if err != nil {
		return nil, err
	}
	keys, err := signingKeys(d.Config)
	if err != nil {
		return nil, err
	}
	v := &Realm{
		Zones: zones, Keys: keys, Registry: r, https: httpsOf(d.Config), webAddresses: web, webTTL: d.Config.Web.TTL,
		names: map[uint32]model.Name{}, numbers: map[model.Name]uint32{},
	}
	for _, h := range d.Config.Hosts {
		v.number(h.Name)
		for _, s := range h.Services {
			for _, name := range s.Names {
				v.number(name)
			}
		}
	}
	return v, nil
}

// Check says whether zones, hosts and keys can be served.
func Check(d *config.Document) error {
	_, _, err := namesIn(d)
	_, keysErr := signingKeys(d.Config)
	return errors.Join(err, keysErr)
}

// RegistryOf is the registry alone, of a document whose keys nobody asks for.
func RegistryOf(d *config.Document) (*registry.Registry, error) {
	_, r, err := namesIn(d)
	return r, err
}

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

// checkZones says what in the zones' files contradicts what is lent by name.
func checkZones(c *config.Config, zones []nameserver.Zone, r *registry.Registry) error {
	var errs []error
	pool := make(map[netip.Addr]bool, len(c.Pool.Addresses))
	for _, a := range c.Pool.Addresses {
		pool[a] = true
	}
	for _, z := range zones {
		errs = append(errs, zone.Check(z.Data, z.Name, zone.Realm{
			Lent: r.Lent(z.Name), Web: r.WebNames(z.Name), Nameserver: c.Realm.Nameserver, Address: c.DNS.Public.Addr(), Secondaries: len(z.Secondaries) > 0,
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

func newRegistry(c *config.Config, owners []model.Name) (*registry.Registry, error) {
	hosts := make([]registry.HostSpec, 0, len(c.Hosts))
	for _, h := range c.Hosts {
		host := registry.HostSpec{Name: h.Name, Address: h.Address, Open: h.Open, Web: h.Web, Redirect: h.Redirect}
		for _, s := range h.Services {
			host.Services = append(host.Services, registry.ServiceSpec{Names: s.Names, Ports: s.Ports, Web: s.Web, Redirect: s.Redirect})
		}
		hosts = append(hosts, host)
	}
	return registry.New(c.Realm.ZoneNames(), hosts, append(owners, c.Realm.Nameserver)...)
}

// number gives the name its number, or the next that no other name of the
// configuration has: two names in some thousands may have the same hash.
func (v *Realm) number(name model.Name) {
	n := nameNumber(name)
	for v.names[n] != "" {
		n = max(1, (n+1)&mostNumber)
	}
	v.names[n], v.numbers[name] = name, n
}

// mostNumber is the greatest number of a name: sessions by name keep 24 bits of it (bpf/handshake/types.h).
const mostNumber = 1<<24 - 1

// nameNumber is a name's number unless another name of the configuration has it,
// so that most keep theirs from one configuration to the next.
func nameNumber(name model.Name) uint32 {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(strings.ToLower(string(name))))
	return max(1, (hash.Sum32()>>24^hash.Sum32())&mostNumber)
}
