package edge

import (
	"time"

	"golang.org/x/time/rate"

	"github.com/realmgate/realmgate/internal/edge/settings"
	"github.com/realmgate/realmgate/internal/edge/wire"
	"github.com/realmgate/realmgate/internal/model"
)

// pace bounds what a peer's opens cost: how many a second, and how many of them that come to nothing. The zero value is none's.
type pace struct{ opens, refused *rate.Limiter }

// follow takes the quotas that are in force; what was spent by the same ones stays so.
func (p *pace) follow(q settings.Quotas) {
	for _, one := range []struct {
		limiter **rate.Limiter
		each    float64
	}{{&p.opens, q.Opens}, {&p.refused, q.Refused}} {
		if limit := rate.Limit(one.each); *one.limiter == nil || (*one.limiter).Limit() != limit {
			*one.limiter = rate.NewLimiter(limit, max(1, int(one.each)))
		}
	}
}

// admits reports whether one more open may be looked at.
func (p *pace) admits(now model.Instant) bool {
	at := time.Unix(0, int64(now))
	return p.refused.TokensAt(at) >= 1 && p.opens.AllowN(at, 1)
}

// refuses notes an open that has come to nothing.
func (p *pace) refuses(now model.Instant) { p.refused.AllowN(time.Unix(0, int64(now)), 1) }

// answer answers an open of a peer that may ask so often; the lock is held.
func (s far) answer(p *peer, m wire.Open) wire.Message {
	name := p.settings.Name
	p.pace.follow(s.Quotas)
	if !p.pace.admits(s.Now()) {
		if !show(s).told("pace " + name.String()) { // once, whatever the names
			show(s).refused(name, m.From, m.To, string(wire.RefusedQuota), true)
		}
		return wire.Refuse{ID: m.ID, Reason: wire.RefusedQuota, Retry: 1}
	}
	answer := s.admit(p, m)
	if r, is := answer.(wire.Refuse); is {
		p.pace.refuses(s.Now())
		show(s).refused(name, m.From, m.To, string(r.Reason), true)
	}
	return answer
}
