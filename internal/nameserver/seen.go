package nameserver

import (
	"net/netip"
	"sync"
	"time"

	"github.com/miekg/dns"
	pace "golang.org/x/time/rate"

	"github.com/realmgate/realmgate/internal/model"
)

// What one key may change.
const (
	updatesEachSecond = 10
	updatesAtOnce     = 100 // when it was silent before: a network comes up at once
	mostUnderWay      = 64  // while the disk is slow
)

// seen are the updates of keys that are under way, or were done lately. The same one again is refused (RFC 8945 §5.2.3, §10.1), or
// from where it came before, whose answer may be lost, it is answered again. There are as many as a key may make while its
// signatures are good. It is safe for concurrent use, and nobody waits for a disk in it.
type seen struct {
	began time.Time
	mutex sync.Mutex // guards what follows
	keys  map[model.Name]*seenOf
}

type seenOf struct {
	rate  *pace.Limiter
	macs  map[string]done
	under int
	swept time.Time
}

// done is an update that was, or is under way.
type done struct {
	signed uint64
	from   netip.AddrPort
	rcode  int
	under  bool
}

// verdict says what becomes of an update whose signature is good.
type verdict int

const (
	begins verdict = iota
	answeredBefore
	replayed
	tooMany
	waits // for its like, or as others of its key do: there is no answer, and who asks asks again
)

func newSeen() *seen { return &seen{began: time.Now(), keys: map[model.Name]*seenOf{}} }

func (s *seen) of(key model.Name) *seenOf {
	k := s.keys[key]
	if k == nil { // one for each key of the configuration
		k = &seenOf{rate: pace.NewLimiter(updatesEachSecond, updatesAtOnce), macs: map[string]done{}}
		s.keys[key] = k
	}
	return k
}

// admit takes an update in, once. floor is when the last one was signed that an earlier process did. rcode is that of one that was
// answered before.
func (s *seen) admit(key model.Name, tsig *dns.TSIG, from netip.AddrPort, floor uint64, now time.Time) (v verdict, rcode int) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	k := s.of(key)
	d, again := k.macs[tsig.MAC]
	switch {
	case again && d.from != from, !again && s.before(tsig.TimeSigned, floor):
		return replayed, 0
	case again && d.under, !again && k.under >= mostUnderWay:
		return waits, 0
	case again:
		return answeredBefore, d.rcode
	case !k.rate.AllowN(now, 1):
		return tooMany, 0
	}
	k.under++
	k.macs[tsig.MAC] = done{signed: tsig.TimeSigned, from: from, under: true}
	return begins, 0
}

// before reports whether an update may have been done by an earlier process: floor is when the last one of that was signed.
func (s *seen) before(signed, floor uint64) bool {
	return signed <= floor && signed < uint64(s.began.Unix()) //nolint:gosec // not before 1970
}

// note remembers how an update ended that was admitted.
func (s *seen) note(key model.Name, mac string, rcode int, now time.Time) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	k := s.of(key)
	d := k.macs[mac]
	d.rcode, d.under = rcode, false
	k.macs[mac] = d
	k.under--
	if now.Sub(k.swept) < signatureFudge*time.Second {
		return
	}
	k.swept = now
	for old, at := range k.macs {
		if !at.under && at.signed+2*signatureFudge < uint64(now.Unix()) { //nolint:gosec // not before 1970
			delete(k.macs, old)
		}
	}
}
