package daemon

import (
	"fmt"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/guard/ban"
	"github.com/realmgate/realmgate/internal/guard/honeypot"
	"github.com/realmgate/realmgate/internal/guard/honeypot/settings"
	"github.com/realmgate/realmgate/internal/machine"
)

func (g guardServices) newHoneypot() *honeypot.Service {
	return honeypot.New(honeypot.Options{
		Events: func() (*datapath.Events[datapath.HoneypotEvent], error) { return g.data.HoneypotEvents() },
		Rules:  func() settings.Honeypot { return g.view.Load().config.Protection.Honeypot },
		Ban: func(rules settings.Honeypot, all []honeypot.Hit) error {
			offences := make([]ban.Offence, len(all))
			for i, c := range all {
				offences[i] = ban.Offence{Address: c.Address, Reason: fmt.Sprintf("honeypot: tcp port %d", c.Port)}
			}
			_, err := g.bans.Offend(offences, rules.BanTime)
			return err
		},
		Listening: machine.ListeningTCP, Log: g.log,
	})
}
