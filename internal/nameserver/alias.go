package nameserver

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
	"github.com/miekg/dns"

	"github.com/realmgate/realmgate/internal/model"
)

const (
	aliasOctets = 4 + 4 + 16  // number, time in seconds, half an HMAC-SHA256 (RFC 2104 §5)
	aliasLabel  = 39          // characters: aliasOctets in base 32, without padding
	aliasLife   = 10          // seconds that an alias may be asked; its time is whole seconds, so up to one more
	aliasNames  = 65536       // host names that have numbers; the one unused for longest makes room
	aliasKey    = sha256.Size // octets
	aliasHead   = 4 + 4       // octets before the HMAC
	second      = model.Instant(time.Second)
)

// aliasText is base32hex in lower case (RFC 4648 §7): a name's case means
// nothing, so an alias has to survive 0x20.
var aliasText = base32.NewEncoding("0123456789abcdefghijklmnopqrstuv").WithPadding(base32.NoPadding)

// aliases makes and reads the names that stand for a host name for a short
// time. An alias proves itself, so none is stored. The key is as old as the
// process: after a restart old aliases are unknown, and resolvers ask again.
type aliases struct {
	key [aliasKey]byte

	mu      sync.Mutex
	numbers *simplelru.LRU[model.Name, uint32]
	names   map[uint32]model.Name // the reverse of numbers
	last    uint32                // number given; none is given twice, so a reload confuses nothing
}

func newAliases() (*aliases, error) {
	a := &aliases{names: map[uint32]model.Name{}}
	if _, err := rand.Read(a.key[:]); err != nil {
		return nil, fmt.Errorf("make the key of the aliases: %w", err)
	}
	var err error
	a.numbers, err = simplelru.NewLRU(aliasNames, func(_ model.Name, number uint32) { delete(a.names, number) })
	if err != nil {
		return nil, fmt.Errorf("make a table of %d names: %w", aliasNames, err)
	}
	return a, nil
}

// make returns the alias of host for asker from now on. ok is false where the
// zone's name leaves no room for it.
func (a *aliases) make(now model.Instant, zone, host model.Name, asker netip.Addr) (alias model.Name, ok bool) {
	if len(zone)+1+aliasLabel+1 > maxNameLength {
		return "", false
	}
	var octets [aliasOctets]byte
	binary.BigEndian.PutUint32(octets[:], a.number(host))
	binary.BigEndian.PutUint32(octets[4:], uint32(now/second))
	copy(octets[aliasHead:], a.proof(octets[:aliasHead], zone, host, asker))
	return model.Name(aliasText.EncodeToString(octets[:])+".") + zone, true
}

// open returns the host name that an alias directly below zone stands for. ok
// is false if it is no alias, is too old or was made for somebody else.
func (a *aliases) open(now model.Instant, zone, alias model.Name, asker netip.Addr) (host model.Name, ok bool) {
	label, ok := strings.CutSuffix(string(alias), "."+string(zone))
	if !ok || len(label) != aliasLabel {
		return "", false
	}
	var octets [aliasOctets + 1]byte // the decoder wants room for the bits left over
	n, err := aliasText.Decode(octets[:], []byte(label))
	if err != nil || n != aliasOctets || aliasText.EncodeToString(octets[:n]) != label {
		return "", false
	}
	// Modulo 2^32, so that a time to come is far too old.
	if uint32(now/second)-binary.BigEndian.Uint32(octets[4:]) > aliasLife {
		return "", false
	}
	if host, ok = a.name(binary.BigEndian.Uint32(octets[:])); !ok {
		return "", false
	}
	return host, hmac.Equal(octets[aliasHead:n], a.proof(octets[:aliasHead], zone, host, asker))
}

// proof is the HMAC of all that an alias says and of what it silently means.
// Names have no octet 0, so the parts cannot run together.
func (a *aliases) proof(head []byte, zone, host model.Name, asker netip.Addr) []byte {
	address := asker.As16()
	mac := hmac.New(sha256.New, a.key[:])
	mac.Write(head)
	mac.Write(address[:])
	mac.Write([]byte(zone + "\x00" + host))
	return mac.Sum(nil)[:aliasOctets-aliasHead]
}

func (a *aliases) number(host model.Name) uint32 {
	a.mu.Lock()
	defer a.mu.Unlock()
	if number, ok := a.numbers.Get(host); ok {
		return number
	}
	a.last++
	a.numbers.Add(host, a.last)
	a.names[a.last] = host
	return a.last
}

func (a *aliases) name(number uint32) (model.Name, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	host, ok := a.names[number]
	return host, ok
}

// decideAlias answers for an alias of a name that is still lent. ok is false for
// everything else. It comes before the directory, whose wildcards fit an alias too.
func (s *publicSettings) decideAlias(q *query, zone *served, directory Directory, asker netip.Addr, now model.Instant) (d decision, ok bool) {
	host, ok := s.aliases.open(now, zone.name, q.canonical, asker)
	if !ok {
		return decision{}, false
	}
	if entry, ok := directory.Find(host); !ok || !entry.lent() {
		return decision{}, false
	}
	d = decision{action: allocate, reply: reply{authoritative: true}}
	if q.qtype != dns.TypeA {
		d = zone.negative(d.reply, dns.RcodeSuccess, 0)
	}
	d.target, d.owner, d.alias = host, q.name, true
	return d, true
}

// observe learns from the question and turns a minimising asker's question for a host
// into an alias: if it was meant, the asker follows, and if it was only on the
// way to a name below, no address is taken.
func (p *Public) observe(settings *publicSettings, q *query, d *decision, asker netip.Addr, proved bool, now model.Instant) {
	s := observation{asker: asker, zone: d.zone, name: q.canonical, host: d.parent, verified: settings.verified(proved)}
	if d.alias {
		s.alias = d.target
	}
	if s.host && s.verified && settings.await != nil {
		settings.await(asker, detectorLate)
	}
	if !p.detector.observe(now, s) || !d.parent || d.action != allocate {
		return
	}
	alias, ok := p.aliases.make(now, d.zone, d.target, asker)
	if !ok {
		return
	}
	p.counters.aliased.Add(1)
	d.action = send
	d.reply.answer = []dns.RR{&dns.CNAME{Hdr: header(q.name, dns.TypeCNAME, 0), Target: string(alias)}}
}
