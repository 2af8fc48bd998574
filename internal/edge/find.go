package edge

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/miekg/dns"

	"github.com/realmgate/realmgate/internal/edge/pact"
	"github.com/realmgate/realmgate/internal/edge/policy"
	"github.com/realmgate/realmgate/internal/edge/wire"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/nameserver"
)

// opening is a pact that is asked for, once for all who ask the same.
type opening struct {
	done   chan struct{} // closed when the rest is there
	answer nameserver.AbroadAnswer
	err    error
}

// Owns implements nameserver.Abroad.
func (s *Service) Owns(name model.Name) bool { return s.owned.Load().has(name) }

// Reverse implements nameserver.Abroad.
func (s *Service) Reverse(asker, address netip.Addr) (model.Name, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pacts == nil {
		return "", false
	}
	p, found := s.pacts.ByProxy(asker, address)
	return p.Remote, found && p.Remote != ""
}

// Find implements nameserver.Abroad. Who has a pact is answered at once.
func (s *Service) Find(ctx context.Context, q nameserver.AbroadQuestion) (nameserver.AbroadAnswer, error) {
	o, answer, err := near{s}.begin(q)
	if o == nil {
		return answer, err
	}
	select {
	case <-o.done:
		return o.answer, o.err
	case <-ctx.Done():
		return nameserver.AbroadAnswer{}, ctx.Err()
	}
}

// begin answers, or says what to wait for.
func (s near) begin(q nameserver.AbroadQuestion) (*opening, nameserver.AbroadAnswer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	none := nameserver.AbroadAnswer{}
	if !s.Owns(q.Name) {
		return nil, none, nameserver.ErrNotAbroad
	}
	if s.stopping {
		return nil, none, full(errStopping)
	}
	configured, _ := s.PeerOf(q.Name)
	p := s.peerNamed(configured.Name)
	if p == nil {
		return nil, none, full(errors.New("edges.links are all in use"))
	}
	local, named := s.localOf(q.Asker)
	judged := policy.Question{From: local, To: q.Name, Vouched: policy.Pinned}
	rule, _, passes := policy.Judge(s.out, judged, false)
	if !passes {
		return nil, none, refused(dns.ExtendedErrorCodeBlocked, "edges.out does not let %s reach %s", local, q.Name)
	}
	if !named || !policy.SpeaksFor(s.Zones, local) { // peers would not believe it, and hear of no other names of ours
		rule.Offer.Name = policy.ByEdge
	}
	key := pact.Key{Host: q.Asker, Local: local, Remote: q.Name}
	now := s.Now()
	if standing, found := s.pacts.ByKey(key); found && standing.State == pact.Live && standing.Out {
		s.pacts.Answered(now, standing.Number)
		return nil, s.answerOf(standing, now), nil
	}
	if o := s.opening[key]; o != nil {
		return o, none, nil
	}
	if p.failures.standing(now) && !p.up {
		return nil, none, s.unreached(p, errors.New(p.failures.text))
	}
	reserved, _, err := s.pacts.Open(now, key, p.settings.Name.String())
	if err != nil {
		return nil, none, full(err)
	}
	o := &opening{done: make(chan struct{})}
	s.opening[key] = o
	go s.negotiate(o, ask{peer: p, edge: configured.Name, pact: reserved, from: s.disclosed(rule.Offer.Name, local, p.hostID(q.Asker.As4())), rule: rule})
	return o, none, nil
}

// disclosed is the name by which a peer knows who asks, as a rule offers it.
func (s near) disclosed(offer policy.Name, local model.Name, host wire.HostID) model.Name {
	switch offer {
	case policy.Full:
		return local
	case policy.Pseudonym:
		return model.Name(fmt.Sprintf("h%016x.%s", uint64(host), s.Zones[0]))
	}
	return s.Name
}

// answerOf is the answer that a pact stands for.
func (s near) answerOf(p pact.Pact, now model.Instant) nameserver.AbroadAnswer {
	return nameserver.AbroadAnswer{Address: p.Proxy, TTL: max(time.Second, min(s.TTL, s.Idle, p.Until.Sub(now)))}
}

// unreached is the answer where a peer cannot be reached.
func (s near) unreached(p *peer, why error) error {
	if p.settings.Legacy {
		return nameserver.ErrNotAbroad
	}
	return &nameserver.AbroadError{Code: dns.ExtendedErrorCodeNetworkError, Text: fmt.Sprintf("edge %s: %v", p.settings.Name, why)}
}

func full(why error) error {
	return &nameserver.AbroadError{Code: dns.ExtendedErrorCodeOther, Text: why.Error()}
}

func refused(code uint16, format string, a ...any) error {
	return &nameserver.AbroadError{Code: code, Text: fmt.Sprintf(format, a...), Refused: true}
}

// refusedBy is the answer where a peer refuses.
func refusedBy(peer model.Name, m wire.Refuse) error {
	return refused(dns.ExtendedErrorCodeProhibited, "edge %s refuses: %s", peer, m.Reason)
}
