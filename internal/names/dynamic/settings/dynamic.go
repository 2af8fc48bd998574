package settings

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/schema"
)

const (
	mostEntries = 64
	mostPorts   = 64 // that a host opens
	// MostHosts is how many hosts an entry has at most.
	MostHosts = 10_000
	// MostListed is how many one of a file of hosts has.
	MostListed = 1_000_000
)

// Entry is where hosts of a zone come from, and what they may.
type Entry struct {
	Zone   model.Name // one of realm.zones
	Source Source
	File   string // of all sources but Update
	Key    model.Name
	// Prefixes are where its hosts have their addresses, IPv4.
	Prefixes []netip.Prefix
	Services []Service
}

// Source is what tells of hosts.
type Source uint8

// The sources: leases of DHCP servers, a file of hosts, and updates of DNS.
const (
	Kea Source = iota
	Dnsmasq
	Listed
	Update
)

// String returns the key that the file has.
func (s Source) String() string {
	return schema.Word(int(s), "source", "kea", "dnsmasq", "file", "update")
}

// Most is how many hosts the entry has at most.
func (e Entry) Most() int {
	if e.Source == Listed {
		return MostListed
	}
	return MostHosts
}

// HasWeb reports whether its hosts may have web names. Those of a file have none: each host of the web is asked what it can, and a
// file has too many for that.
func (e Entry) HasWeb() bool { return e.Source != Listed }

// Ways are how many there are into a host of it.
func (e Entry) Ways() (n int) {
	for _, s := range e.Services {
		n += len(s.Ports)
	}
	return n
}

// LentWays are those of them by pool addresses.
func (e Entry) LentWays() int { return e.Ways() - len(e.WebPorts()) }

// Lent are those of its services that are at pool addresses.
func (e Entry) Lent() []Service {
	return slices.DeleteFunc(slices.Clone(e.Services), func(s Service) bool { return s.Web })
}

// WebPorts are those that web names of it open.
func (e Entry) WebPorts() (list []model.Port) {
	for _, s := range e.Services {
		if s.Web {
			list = append(list, s.Ports...)
		}
	}
	return list
}

// Path is where its file is, seen from a configuration file's folder.
func (e Entry) Path(configuration string) string { return schema.Beside(configuration, e.File) }

type entry struct {
	schema.Begun
	entry                          Entry
	zoneLine, keyLine              int
	keaLine, dnsmasqLine, fileLine int
	kea, dnsmasq, file             string
	update                         int // line
	prefixes                       []schema.At[netip.Prefix]
	services                       []*service
}

func (e *entry) keys() []schema.Key {
	return []schema.Key{
		schema.OneAt("zone", &e.entry.Zone, &e.zoneLine, schema.Domain()).Must(),
		schema.Noting(&e.keaLine, schema.One("kea", &e.kea, schema.FileName()).Otherwise("none")),
		schema.Noting(&e.dnsmasqLine, schema.One("dnsmasq", &e.dnsmasq, schema.FileName()).Otherwise("none")),
		schema.Noting(&e.fileLine, schema.One("file", &e.file, schema.FileName()).Otherwise("none")),
		schema.Noting(&e.update, schema.Section("update", schema.OneAt("key", &e.entry.Key, &e.keyLine, schema.Domain()).Must())),
		schema.Many("prefixes", &e.prefixes, schema.Network(), 1).Must(),
		schema.ListOf("services", &e.services, (*service).keys),
	}
}

// Zones are those of the realm.
type Zones interface {
	// HasZone reports whether a zone is there, and whether other servers hold it, too.
	HasZone(name model.Name) (known, copied bool)
}

// Keys are those of the name server.
type Keys interface{ HasKey(name model.Name) bool }

// Web is what `web` says.
type Web interface {
	// IsName reports whether names that open ports are web names: as is said of them, or by the ports alone.
	IsName(faults *schema.Faults, said schema.At[bool], ports []schema.At[model.Port], path string) bool
}

// Draft is `dynamic`.
type Draft struct {
	target  *[]Entry
	zones   Zones
	known   Keys
	web     Web
	entries []*entry
}

// New makes a draft whose values go to target.
func New(target *[]Entry, zones Zones, keys Keys, web Web) *Draft {
	return &Draft{target: target, zones: zones, known: keys, web: web}
}

// Keys implements schema.Draft.
func (d *Draft) Keys() []schema.Key {
	return []schema.Key{schema.ListOf("dynamic", &d.entries, (*entry).keys).Most(mostEntries)}
}

// Finish implements schema.Draft.
func (d *Draft) Finish(faults *schema.Faults) {
	type updater struct{ zone, key model.Name }
	updaters, files := map[updater]int{}, schema.Once[string]{}
	for i, e := range d.entries {
		path := fmt.Sprintf("dynamic[%d]", i)
		e.finish(faults, path, d.web)
		d.checkZone(faults, e, path)
		if by := (updater{e.entry.Zone, e.entry.Key}); e.keyLine > 0 {
			if !d.known.HasKey(e.entry.Key) {
				faults.Add(e.keyLine, "%s.update.key: there is no key %s under dns.keys", path, e.entry.Key)
			}
			if before, twice := updaters[by]; twice {
				faults.Add(e.keyLine, "%s.update.key: %s registers hosts of %s at line %d already", path, by.key, by.zone, before)
			}
			updaters[by] = e.keyLine
		}
		if e.entry.File != "" {
			files.Take(faults, "dynamic", e.entry.File, max(e.keaLine, e.dnsmasqLine, e.fileLine))
		}
		*d.target = append(*d.target, e.entry)
	}
}

func (d *Draft) checkZone(faults *schema.Faults, e *entry, path string) {
	if e.zoneLine == 0 {
		return
	}
	switch known, copied := d.zones.HasZone(e.entry.Zone); {
	case !known:
		faults.Add(e.zoneLine, "%s.zone: %s is none of realm.zones", path, e.entry.Zone)
	case copied:
		faults.Add(e.zoneLine, "%s.zone: %s has secondaries, which do not hear of hosts that come and go: give those a zone of their own", path, e.entry.Zone)
	}
}

// finish completes the entry.
func (e *entry) finish(faults *schema.Faults, path string, web Web) {
	given := 0
	for source, of := range []struct {
		line int
		file string
	}{{e.keaLine, e.kea}, {e.dnsmasqLine, e.dnsmasq}, {e.fileLine, e.file}, {e.update, ""}} {
		if of.line == 0 {
			continue
		}
		if given++; given > 1 {
			faults.Add(of.line, "%s: give kea, dnsmasq, file or update, one of them", path)
		}
		e.entry.Source, e.entry.File = Source(source), of.file //nolint:gosec // 0 to 3
	}
	if given == 0 && e.Line > 0 {
		faults.Add(e.Line, "%s: give kea, dnsmasq, file or update", path)
	}
	for _, p := range e.prefixes {
		e.entry.Prefixes = append(e.entry.Prefixes, p.Value)
	}
	e.finishServices(faults, path, web)
}
