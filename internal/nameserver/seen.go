package nameserver

import (
	"net/netip"
	"time"

	pace "golang.org/x/time/rate"

	"github.com/realmgate/realmgate/internal/model"
)

// What one key may change.
const (
	updatesEachSecond = 10
	updatesAtOnce     = 100 // when it was silent before: a network comes up at once
)

// seen are the updates of keys that were done lately. The same one again is refused (RFC 8945 §5.2.3, §10.1), or from where it
// came before, whose answer may be lost, it is answered again. There are as many as a key may make while its signatures are good.
type seen struct {
	began time.Time
	keys  map[model.Name]*seenOf
}

type seenOf struct {
	rate  *pace.Limiter
	macs  map[string]done
	swept time.Time
}

// done is an update that was.
type done struct {
	signed uint64
	from   netip.AddrPort
	rcode  int
}

func newSeen() *seen { return &seen{began: time.Now(), keys: map[model.Name]*seenOf{}} }

func (s *seen) of(key model.Name) *seenOf {
	k := s.keys[key]
	if k == nil { // one for each key of the configuration
		k = &seenOf{rate: pace.NewLimiter(updatesEachSecond, updatesAtOnce), macs: map[string]done{}}
		s.keys[key] = k
	}
	return k
}

// allow takes one of the key's updates.
func (s *seen) allow(key model.Name, now time.Time) bool { return s.of(key).rate.AllowN(now, 1) }

// again finds an update that was done before.
func (s *seen) again(key model.Name, mac string) (done, bool) {
	d, was := s.of(key).macs[mac]
	return d, was
}

// before reports whether an update may have been done by an earlier process: floor is when the last one of that was signed.
func (s *seen) before(signed, floor uint64) bool {
	return signed <= floor && signed < uint64(s.began.Unix()) //nolint:gosec // not before 1970
}

// note remembers an update that is done now.
func (s *seen) note(key model.Name, mac string, d done, now time.Time) {
	k := s.of(key)
	k.macs[mac] = d
	if now.Sub(k.swept) < signatureFudge*time.Second {
		return
	}
	k.swept = now
	for old, at := range k.macs {
		if at.signed+2*signatureFudge < uint64(now.Unix()) { //nolint:gosec // not before 1970
			delete(k.macs, old)
		}
	}
}
