package server

import (
	"context"
	"time"

	"github.com/miekg/dns"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/model"
)

// heartbeatEvery is several times within datapath.HeartbeatLasts: a busy machine may be late.
const heartbeatEvery = time.Second

// lentTypes are what the data plane calls types of questions.
var lentTypes = map[uint16]datapath.Lent{
	dns.TypeA: datapath.LentA, dns.TypeAAAA: datapath.LentAAAA, dns.TypeHTTPS: datapath.LentHTTPS,
}

// tellLentNames tells the data plane which names the name server lends.
func (s *Service) tellLentNames() error {
	names := map[model.Name]datapath.Lent{}
	for _, lent := range s.public.LentNames() {
		for _, qtype := range lent.Types {
			names[lent.Name] |= lentTypes[qtype]
		}
	}
	left, err := s.Data.SetLentNames(names)
	if left > 0 {
		s.Log.Warn("lent name table full", "hint", "questions for the others reach the daemon, within limits, until a restart",
			"names", len(names), "left", left)
	}
	return err
}

// Beat tells the data plane that the name server lives, and the secrets of cookies. Where UDP lends,
// there is nothing that the data plane could say instead.
func (s *Service) Beat() error {
	if !s.current.Load().DNS.Verifies() {
		return s.Data.StopHeartbeat()
	}
	cookies := s.cookies.Load()
	return s.Data.Heartbeat([2][16]byte{cookies.list()[0], cookies.list()[1]})
}

// Run beats until ctx ends, and renews the secret of cookies.
func (s *Service) Run(ctx context.Context) error {
	ticker := time.NewTicker(heartbeatEvery)
	defer ticker.Stop()
	for {
		s.renewCookies(time.Now())
		if err := s.Beat(); err != nil {
			s.Log.Warn("name server heartbeat failed", "error", err)
		}
		select {
		case <-ctx.Done():
			if err := s.Data.StopHeartbeat(); err != nil {
				s.Log.Warn("name server heartbeat not stopped", "error", err)
			}
			return nil
		case <-ticker.C:
		}
	}
}

// renewCookies changes the secret of cookies when it is due.
func (s *Service) renewCookies(now time.Time) {
	old := s.cookies.Load()
	if !old.due(now) {
		return
	}
	renewed := old.renewed(now)
	s.keepCookies(renewed)
	if err := s.public.SetCookieSecrets(renewed.list()); err != nil {
		s.Log.Error("DNS cookie secret not rotated", "error", err)
		return
	}
	s.cookies.Store(renewed)
}
