package chains

import (
	"fmt"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/config"
	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/metrics/metric"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/ruleset"
)

// Measure says what functions did, and which backends are up.
func (s *Service) Measure(page metric.Page) error {
	v := s.options.InForce()
	counts, err := s.options.Counts()
	if err != nil {
		return err
	}
	eachFunction(v.Document.Config, func(chain, function string) {
		name := ruleset.Name(chain, function)
		measure(page, &counts[v.Numbers[name]], chain, function)
		for _, b := range v.Backends(name) {
			if b.State != "unchecked" {
				metric.PutIf(page, metric.BackendUp, b.State == "up", chain, function, place(b))
			}
		}
	})
	return nil
}

// eachFunction calls visit for the functions of the protection and of all chains.
func eachFunction(c *config.Config, visit func(chain, function string)) {
	if c.Protection.Given() {
		for _, f := range ruleset.ProtectionFunctions(c) {
			visit(model.ProtectionName, f)
		}
	}
	for _, ch := range c.Chains {
		for _, f := range ch.Functions {
			visit(ch.Name, f.Name)
		}
	}
}

func measure(page metric.Page, did *datapath.Count, chain, function string) {
	page.Put(metric.ChainPackets, float64(did.Seen), chain, function)
	page.Put(metric.ChainVerdicts, float64(did.Accepted), chain, function, "accepted")
	page.Put(metric.ChainVerdicts, float64(did.Dropped), chain, function, "dropped")
	page.Put(metric.ChainVerdicts, float64(did.Failed), chain, function, "failed")
	page.PutSummary(metric.ChainSeconds, did.Samples, float64(did.Ns)/1e9, chain, function)
}

func place(b api.Backend) string {
	if b.Port == 0 {
		return b.To.String()
	}
	return fmt.Sprintf("%s:%d", b.To, b.Port)
}
