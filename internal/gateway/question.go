package gateway

import (
	"context"
	"time"

	"github.com/miekg/dns"

	"github.com/realmgate/realmgate/internal/config"
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
func (g *Gateway) tellLentNames() error {
	names := map[model.Name]datapath.Lent{}
	for _, lent := range g.public.LentNames() {
		for _, qtype := range lent.Types {
			names[lent.Name] |= lentTypes[qtype]
		}
	}
	left, err := g.data.SetLentNames(names)
	if left > 0 {
		g.log.Warn("the table of lent names is full: questions for the others reach the daemon, within limits, until a restart",
			"names", len(names), "left", left)
	}
	return err
}

// beat tells the data plane that the name server lives, and the secrets of cookies. Where UDP lends,
// there is nothing that the data plane could say instead.
func (g *Gateway) beat() error {
	if g.view.Load().config.DNS.Verify == config.VerifyNone {
		return g.data.StopHeartbeat()
	}
	cookies := g.cookies.Load()
	return g.data.Heartbeat([2][16]byte{cookies.list()[0], cookies.list()[1]})
}

// runQuestions beats until ctx ends, and renews the secret of cookies.
func (g *Gateway) runQuestions(ctx context.Context) {
	ticker := time.NewTicker(heartbeatEvery)
	defer ticker.Stop()
	for {
		g.renewCookies(time.Now())
		if err := g.beat(); err != nil {
			g.log.Warn("questions are not answered before they reach the daemon", "error", err)
		}
		select {
		case <-ctx.Done():
			if err := g.data.StopHeartbeat(); err != nil {
				g.log.Warn("leaving questions to the kernel", "error", err)
			}
			return
		case <-ticker.C:
		}
	}
}

// renewCookies changes the secret of cookies when it is due.
func (g *Gateway) renewCookies(now time.Time) {
	old := g.cookies.Load()
	if !old.due(now) {
		return
	}
	renewed := old.renewed(now)
	g.keepCookies(renewed)
	if err := g.public.SetCookieSecrets(renewed.list()); err != nil {
		g.log.Error("the secret of DNS cookies stays as it is", "error", err)
		return
	}
	g.cookies.Store(renewed)
}
