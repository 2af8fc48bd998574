package demo

import (
	"context"
	"fmt"
	"strings"

	"github.com/realmgate/realmgate/internal/client"
	"github.com/realmgate/realmgate/internal/model"
)

const deniedReason = model.ReasonDropDenied

// Step 2: who is in a country that is denied loses what is open, and gets nothing new.
func (s *siege) block(ctx context.Context) error {
	s.tell.note("A geofence is put into force, by realmgate reload: nobody from AQ.", "")
	err := s.add(ctx, fmt.Sprintf(`protection:
  geo_table: %s
  geofence: [{direction: in, deny: [country:%s], unknown: allow}]
`, s.places(), bobLives.code))
	if err != nil {
		return err
	}
	s.tell.say("It is in force. bob, who is there, tries to come again.")
	if err := s.shutOut(ctx, &s.bob, deniedReason); err != nil {
		return err
	}
	e, err := s.gateway.client.Explain(ctx, client.ExplainRequest{
		Address: bobLives.address, ToAddress: s.service().Addr(), Port: s.service().Port(), Protocol: model.TCP,
	})
	if err != nil {
		return err
	}
	last := client.ExplainStep{}
	if len(e.Steps) > 0 {
		last = e.Steps[len(e.Steps)-1]
	}
	if rule := "country:" + bobLives.code; e.Passes || !strings.Contains(last.Why, rule) {
		return mismatch{"what realmgate explain says of bob", "denied by " + rule, fmt.Sprintf("passes: %t, %s: %s", e.Passes, last.Step, last.Why)}
	}
	s.tell.say("realmgate explain %s names the rule:", bobLives.address)
	s.tell.note(fmt.Sprintf("  %s  %s  %s", last.Step, last.Says, last.Why))
	s.tell.see("explain", last)
	return nil
}
