package daemon

import (
	"fmt"

	"github.com/realmgate/realmgate/internal/config"
	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/guard/ban"
	trap "github.com/realmgate/realmgate/internal/guard/honeypot"
	"github.com/realmgate/realmgate/internal/machine"
)

func (g guardServices) newHoneypot() *trap.Service {
	return trap.New(trap.Options{
		Traps: func() (*datapath.Events[datapath.TrapEvent], error) { return g.data.Traps() },
		Rules: func() config.Honeypot { return g.view.Load().config.Protection.Honeypot },
		Ban: func(rules config.Honeypot, all []trap.Caught) error {
			offences := make([]ban.Offence, len(all))
			for i, c := range all {
				offences[i] = ban.Offence{Address: c.Address, Reason: fmt.Sprintf("honeypot: tcp port %d", c.Port)}
			}
			_, err := g.bans.Offend(offences, rules.Ban)
			return err
		},
		Listening: machine.ListeningTCP, Log: g.log,
	})
}
