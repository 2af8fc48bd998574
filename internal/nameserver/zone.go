package nameserver

import (
	"fmt"
	"net/netip"
	"slices"
	"sync/atomic"

	"github.com/miekg/dns"

	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/names/zone"
)

// Zone is one zone that the servers are authoritative for.
type Zone struct {
	Name model.Name
	Data *zone.Zone // its zone file; nil: the zone holds what the Directory knows and nothing else
	// Secondaries hold copies of the zone. To them a lent name is a zone of its
	// own that this server has, so neither the apex nor a wildcard may be lent.
	Secondaries []Secondary
	// Updaters are the names of the keys that may change the TXT records of
	// _acme-challenge names (RFC 2136, RFC 8555 §8.4).
	Updaters []model.Name
}

// Secondary is a server that is told of changes and may copy the zone.
type Secondary struct {
	Address netip.AddrPort // where it is told (NOTIFY); it may ask from elsewhere, with its key
	Key     model.Name     // of one of PublicOptions.Keys
}

// Defaults of what a zone file may say otherwise. TTLs and times are in seconds.
const (
	zoneTTL     = 3600 // SOA, NS and the name server's own address
	recordTTL   = 60   // SRV, TXT, PTR and private addresses: a reload may change them
	negativeTTL = 60   // NXDOMAIN and NODATA (RFC 2308 §5)
	soaRefresh  = 3600
	soaRetry    = 600
	soaExpire   = 86400
)

// served is a zone as it is answered from. It is immutable, but for the edition.
type served struct {
	name model.Name
	data *zone.Zone
	soa  *dns.SOA // its serial is good as long as the journal knows none
	live *atomic.Pointer[edition]

	secondaries []Secondary
	updaters    []model.Name
}

func newServed(given Zone, nameserver model.Name, serial uint32, journal *Journal) (*served, error) {
	if checked, err := model.ParseName(string(given.Name)); err != nil || checked != given.Name {
		return nil, fmt.Errorf("zone %q is not a canonical name: use model.ParseName", given.Name)
	}
	if given.Data != nil && given.Data.Name() != given.Name {
		return nil, fmt.Errorf("zone %s has the file of the zone %s", given.Name, given.Data.Name())
	}
	z := bare(given.Name, nameserver, serial)
	z.data, z.live = given.Data, journal.reader(given.Name)
	z.secondaries, z.updaters = slices.Clone(given.Secondaries), slices.Clone(given.Updaters)
	if soa := given.Data.SOA(); soa != nil {
		z.soa = dns.Copy(soa).(*dns.SOA)
		z.soa.Hdr.Name = string(given.Name)
		if later(serial, soa.Serial) { // else the file's: whoever raises it means it
			z.soa.Serial = serial
		}
	}
	return z, nil
}

// bare is a zone without a file.
func bare(name, nameserver model.Name, serial uint32) *served {
	return &served{name: name, soa: &dns.SOA{
		Hdr:    header(string(name), dns.TypeSOA, zoneTTL),
		Ns:     string(nameserver),
		Mbox:   mailbox(name),
		Serial: serial, Refresh: soaRefresh, Retry: soaRetry, Expire: soaExpire, Minttl: negativeTTL,
	}}
}

// later compares serials, which go round (RFC 1982 §3.2).
func later(a, b uint32) bool { return int32(a-b) > 0 }

// start is the SOA at a name with a TTL of its own.
func (z *served) start(owner string, ttl uint32) *dns.SOA {
	soa := *z.soa
	soa.Hdr.Name, soa.Hdr.Ttl = owner, ttl
	if z.live != nil {
		if edition := z.live.Load(); edition.known {
			soa.Serial = edition.serial
		}
	}
	return &soa
}

// child is the lent name that the secondaries of the zone delegate to this
// server, at a name or the closest to the apex above it, or "".
func (z *served) child(directory Directory, name string) (child string) {
	if len(z.secondaries) == 0 {
		return ""
	}
	for ; name != string(z.name); name = parentOf(name) {
		if entry, ok := directory.Find(model.Name(name)); ok && entry.Encloser == "" && entry.lent() {
			child = name
		}
	}
	return child
}

// absent is how long the absence of a name or a type may be remembered (RFC 2308 §5).
func (z *served) absent() uint32 { return min(z.soa.Hdr.Ttl, z.soa.Minttl) }

// mailbox is the zone's responsible person (RFC 2142 §7), or the zone alone
// where no room is left for a label.
func mailbox(zone model.Name) string {
	const person = "hostmaster."
	if len(person)+len(zone)+1 > maxNameLength {
		return string(zone)
	}
	return person + string(zone)
}
