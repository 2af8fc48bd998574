package config

import (
	"fmt"
	"io"
	"net/netip"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/schema"
)

// maxZoneFile bounds a zone's file.
const maxZoneFile = 16 << 20

// Realm is what the gateway is authoritative for.
type Realm struct {
	Zones      []Zone     // at least one, no name twice; one may lie in another
	Nameserver model.Name // in a zone, or outside all of them
}

// ZoneNames are those of all zones, in the order of the file.
func (r Realm) ZoneNames() []model.Name {
	names := make([]model.Name, len(r.Zones))
	for i, z := range r.Zones {
		names[i] = z.Name
	}
	return names
}

// Zone is one zone.
type Zone struct {
	Name        model.Name
	File        string // of its fixed records (RFC 1035 section 5); "": it has none
	Text        string // what is in the file
	Secondaries []Secondary
	ACME        []model.Name // of keys that may change TXT records of _acme-challenge
}

// Secondary is another server that holds the zone.
type Secondary struct {
	Address netip.AddrPort // IPv4
	Key     model.Name     // one of DNS.Keys
}

// Key is a shared secret by which servers and ACME clients sign (TSIG, RFC 8945).
type Key struct {
	Name              model.Name
	Algorithm, Secret string // as tsig-keygen prints them; the secret in base64
}

type zoneDraft struct {
	zone               Zone
	nameLine, fileLine int
	secondaries        []*secondaryDraft
	acme               []schema.At[model.Name]
}

func (z *zoneDraft) keys() []schema.Key {
	return []schema.Key{
		schema.OneAt("name", &z.zone.Name, &z.nameLine, schema.Domain()).Must(),
		schema.OneAt("file", &z.zone.File, &z.fileLine, schema.FileName()).Otherwise("none"),
		schema.ListOf("secondaries", &z.secondaries, (*secondaryDraft).keys),
		schema.Many("acme", &z.acme, schema.Domain(), 0),
	}
}

type secondaryDraft struct {
	secondary Secondary
	keyLine   int
}

func (s *secondaryDraft) keys() []schema.Key {
	return []schema.Key{
		schema.One("address", &s.secondary.Address, schema.AddressPort(true)).Must(),
		schema.OneAt("key", &s.secondary.Key, &s.keyLine, schema.Domain()).Must(),
	}
}

type keyDraft struct {
	key                               Key
	file                              string
	nameLine, secretLine, fileKeyLine int
}

// defaultAlgorithm is that of keys that say nothing.
const defaultAlgorithm = "hmac-sha256"

func (k *keyDraft) keys() []schema.Key {
	k.key.Algorithm = defaultAlgorithm
	return []schema.Key{
		schema.OneAt("name", &k.key.Name, &k.nameLine, schema.Domain()).Must(),
		schema.One("algorithm", &k.key.Algorithm, oneOf(defaultAlgorithm, "hmac-sha384", "hmac-sha512")),
		schema.OneAt("secret", &k.key.Secret, &k.secretLine, secret()).Otherwise("none"),
		schema.OneAt("secret_file", &k.file, &k.fileKeyLine, schema.FileName()).Otherwise("none"),
	}
}

// zonesKey is the zones, each a name or a section.
func zonesKey(target *[]*zoneDraft) schema.Key {
	name := schema.Domain()
	return schema.Key{
		Name: "zones", Kind: "list of: name or section", Allowed: name.Allowed, Keys: new(zoneDraft).keys(),
		Read: func(faults *schema.Faults, node *yaml.Node, path string, _ int) {
			for i, item := range schema.Elements(faults, node, path, "a list: each entry "+name.Want+", or a mapping", 1) {
				z := new(zoneDraft)
				if item.Kind == yaml.MappingNode {
					schema.ReadSection(faults, item, fmt.Sprintf("%s[%d]", path, i), item.Line, z.keys())
				} else if value, ok := schema.ReadValue(faults, item, path, name); ok {
					z.zone.Name, z.nameLine = value, item.Line
				}
				if z.nameLine > 0 {
					*target = append(*target, z)
				}
			}
		},
	}
}

// finishZones completes zones and keys: their files are read, and the keys that they name are there.
func (d *draft) finishZones() {
	known := map[model.Name]int{}
	for i, k := range d.keyDrafts {
		path := fmt.Sprintf("dns.keys[%d]", i)
		if line, twice := known[k.key.Name]; twice && k.nameLine > 0 {
			d.faults.Add(k.nameLine, "%s.name: %s is already listed at line %d", path, k.key.Name, line)
		}
		known[k.key.Name] = k.nameLine
		d.config.DNS.Keys = append(d.config.DNS.Keys, k.finish(d.faults, path))
	}
	wanted := func(name model.Name, line int, path string) {
		if _, there := known[name]; !there && line > 0 {
			d.faults.Add(line, "%s: there is no key %s under dns.keys", path, name)
		}
	}
	for i, z := range d.zones {
		path := fmt.Sprintf("realm.zones[%d]", i)
		for j, s := range z.secondaries {
			wanted(s.secondary.Key, s.keyLine, fmt.Sprintf("%s.secondaries[%d].key", path, j))
			z.zone.Secondaries = append(z.zone.Secondaries, s.secondary)
		}
		for _, name := range z.acme {
			wanted(name.Value, name.Line, path+".acme")
		}
		z.zone.ACME = schema.Values(z.acme)
		if z.zone.File != "" {
			text, err := readSmall(d.faults.File, z.zone.File, "zone", maxZoneFile)
			if err != nil {
				d.faults.Add(z.fileLine, "%s.file: %v", path, err)
			}
			z.zone.Text = text
		}
		d.config.Realm.Zones = append(d.config.Realm.Zones, z.zone)
	}
}

func (k *keyDraft) finish(faults *schema.Faults, path string) Key {
	switch {
	case k.secretLine == 0 && k.fileKeyLine == 0:
		faults.Add(k.nameLine, "%s: give secret or secret_file", path)
	case k.secretLine > 0 && k.fileKeyLine > 0:
		faults.Add(k.fileKeyLine, "%s: give secret or secret_file, not both", path)
	case k.file != "":
		text, err := readSmall(faults.File, k.file, "secret", 4096)
		if err == nil {
			text, err = secret().Parse(strings.TrimSpace(text))
		}
		if err != nil {
			faults.Add(k.fileKeyLine, "%s.secret_file: %v", path, err)
		}
		k.key.Secret = text
	}
	return k.key
}

// readSmall reads a file whole, of at most so many bytes.
func readSmall(configuration, path, what string, most int64) (string, error) {
	file, err := schema.OpenBeside(configuration, path, what)
	if err != nil {
		return "", err
	}
	defer func() { _ = file.Close() }() // only read: nothing can be lost
	text, err := io.ReadAll(io.LimitReader(file, most+1))
	switch {
	case err != nil:
		return "", fmt.Errorf("read the %s %s: %w", what, file.Name(), err)
	case int64(len(text)) > most:
		return "", fmt.Errorf("%s is larger than %d bytes", file.Name(), most)
	}
	return string(text), nil
}

// Path is where the zone's file is, seen from a configuration file's folder.
func (z Zone) Path(configuration string) string {
	if filepath.IsAbs(z.File) {
		return z.File
	}
	return filepath.Join(filepath.Dir(configuration), z.File)
}
