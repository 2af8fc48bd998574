package nameserver

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/miekg/dns"

	"github.com/realmgate/realmgate/internal/model"
)

const (
	keptEditions = 8     // of a zone, for differences (RFC 1995 §5)
	keptRecords  = 65536 // of all editions but the newest of a zone
)

// content is a zone as secondaries hold it. It is immutable.
type content struct {
	soa     *dns.SOA
	records map[string]dns.RR // all but the SOA, by their text
	digest  string            // of all but the serial
}

// published holds what each zone was, up to what it is.
type published struct {
	changing sync.Mutex // one change at a time, from reading the directory to the journal
	mu       sync.Mutex
	zones    map[model.Name][]*content // the newest last
}

// newest returns a zone's current content, or nil.
func (p *published) newest(zone model.Name) *content {
	p.mu.Lock()
	defer p.mu.Unlock()
	if list := p.zones[zone]; len(list) > 0 {
		return list[len(list)-1]
	}
	return nil
}

// since returns the contents from a serial on, that one included, or nothing if
// it is not kept.
func (p *published) since(zone model.Name, serial uint32) []*content {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := p.zones[zone]
	for i, c := range list {
		if c.soa.Serial == serial {
			return slices.Clone(list[i:])
		}
	}
	return nil
}

func (p *published) add(zone model.Name, c *content) {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := append(p.zones[zone], c)
	kept := 0
	for i := len(list) - 2; i >= 0; i-- {
		if kept += len(list[i].records); kept > keptRecords || len(list)-i > keptEditions {
			list = slices.Clone(list[i+1:])
			break
		}
	}
	if p.zones == nil {
		p.zones = map[model.Name][]*content{}
	}
	p.zones[zone] = list
}

// Publish looks at the directory and the zones anew. Where what secondaries
// hold has changed, the serial is raised and they are told. Reconfigure calls
// it; whoever changes what Directory returns by other means has to.
func (p *Public) Publish() {
	p.published.changing.Lock()
	defer p.published.changing.Unlock()
	settings := p.settings.Load()
	directory := settings.directory()
	for _, name := range slices.Sorted(maps.Keys(settings.authority.zones)) {
		z := settings.authority.zones[name]
		c := settings.authority.content(z, directory, z.live.Load().records())
		file := uint32(0)
		if soa := z.data.SOA(); soa != nil {
			file = soa.Serial
		}
		if err := p.journal.publish(z.name, c.digest, z.soa.Serial, file); err != nil {
			p.logger.Warn("serial not stored", "zone", z.name, "error", err)
		}
		p.replace(z, c)
	}
	p.notifier.wake()
}

// replace makes c the newest content under the journal's serial.
func (p *Public) replace(z *served, c *content) {
	if z.live.Load().serial == 0 {
		return // never published
	}
	c.soa = z.start(string(z.name), z.soa.Hdr.Ttl)
	if now := p.published.newest(z.name); now == nil || now.soa.Serial != c.soa.Serial {
		p.published.add(z.name, c)
	}
}

// content is what secondaries are to hold: the file, this server and the zones
// below, with each lent name delegated to this server, which alone knows its
// address. What a delegation hides stays here.
func (a *authority) content(z *served, directory Directory, challenges []dns.RR) *content {
	b := builder{zone: z, delegated: map[string]bool{}, records: map[string]dns.RR{}}
	lent := directory.Lent(z.name)
	for _, name := range lent {
		b.delegated[string(name)] = true
	}
	for name := range a.zones {
		if model.Name(name).In(z.name) && name != string(z.name) {
			b.delegated[name] = true
		}
	}
	b.add(z.delegation(string(z.name), a.nameserver))
	for name := range b.delegated {
		if b.above(name) == name && len(z.data.Node(name).Set(dns.TypeNS)) == 0 {
			b.put(z.delegation(name, a.nameserver))
		}
	}
	if a.nameserver.In(z.name) {
		b.put(addressRecord(string(a.nameserver), zoneTTL, a.address)) // an answer, or glue
	}
	for rr := range z.data.Records() {
		if h := rr.Header(); h.Rrtype == dns.TypeNS && b.delegated[dns.CanonicalName(h.Name)] {
			b.put(rr) // the file delegates a zone that is ours
			continue
		}
		b.add(rr)
	}
	for _, rr := range challenges {
		b.add(rr)
	}
	for _, name := range directory.WebNames(z.name) {
		if e, ok := directory.Find(name); ok {
			for _, rr := range a.webRecords(z, string(name), e) {
				b.add(rr)
			}
		}
	}
	return &content{records: b.records, digest: b.digest()}
}

// delegation says that this server has the zone of a name.
func (z *served) delegation(name string, nameserver model.Name) dns.RR {
	ttl := uint32(zoneTTL)
	if others := z.data.Node(string(z.name)).Set(dns.TypeNS); name == string(z.name) && len(others) > 0 {
		ttl = others[0].Header().Ttl // one set, one TTL (RFC 2181 §5.2)
	}
	return &dns.NS{Hdr: header(name, dns.TypeNS, ttl), Ns: string(nameserver)}
}

// builder gathers a content.
type builder struct {
	zone      *served
	delegated map[string]bool
	records   map[string]dns.RR
}

// above is the delegation that a name is at or below, the one closest to the apex, or "".
func (b *builder) above(name string) (cut string) {
	for ; name != string(b.zone.name) && name != "."; name = parentOf(name) {
		if b.delegated[name] {
			cut = name
		}
	}
	return cut
}

// add takes a record in, unless a delegation hides it.
func (b *builder) add(rr dns.RR) {
	if b.above(dns.CanonicalName(rr.Header().Name)) == "" {
		b.put(rr)
	}
}

// put takes a record in once: a file may name this server, too.
func (b *builder) put(rr dns.RR) {
	text := rr.String()
	if rr.Header().Rrtype == dns.TypeNS || rr.Header().Rrtype == dns.TypeA {
		text = strings.ToLower(text)
	}
	b.records[text] = rr
}

func (b *builder) digest() string {
	soa := *b.zone.soa
	soa.Serial = 0
	hash := sha256.New()
	_, _ = fmt.Fprintln(hash, soa.String())
	for _, text := range slices.Sorted(maps.Keys(b.records)) {
		_, _ = fmt.Fprintln(hash, text)
	}
	return hex.EncodeToString(hash.Sum(nil))
}
