package allocation

import (
	"fmt"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/policy"
)

// With as many addresses as services every honest visit is served, whoever asks.
func TestAttackWithRoomForAll(t *testing.T) {
	t.Parallel()
	for name, askers := range attackers {
		s := scenario{addresses: 16, names: 16, rest: rest, visits: 4, askers: askers, questions: 40, seed: 1}
		if got := s.run(t); got.share() < 0.99 {
			t.Errorf("%s: %s %% of %d visits", name, percent(got.share()), got.visits)
		}
	}
}

// With fewer addresses than names one asker, or one /24, takes no more than its share: honest visits are served as from
// a pool that is smaller by it.
func TestAttackByOneParty(t *testing.T) {
	t.Parallel()
	for _, addresses := range []int{4, 16} { // with few addresses chance counts: several hours
		for pause, questions := range map[time.Duration]float64{rest: 10, time.Second: 40} {
			t.Run(fmt.Sprintf("%d addresses, rest %s", addresses, pause), func(t *testing.T) {
				t.Parallel()
				s := scenario{addresses: addresses, names: 4 * addresses, rest: pause, visits: float64(addresses) / 750, seed: 1}
				smaller := s
				smaller.addresses -= policy.Share(addresses, policy.FirstReputation)
				want := smaller.average(t).share()
				for _, name := range []string{"1 address", "30 of a /24"} {
					s.askers, s.questions = attackers[name], questions
					if got := s.average(t); got.share() < 0.95*want {
						t.Errorf("%s: %s %% of %d visits, %s %% from a smaller pool", name, percent(got.share()), got.visits, percent(want))
					}
				}
			})
		}
	}
}

// Who also connects to all that it asks for earns the greater share, and takes no more than that.
func TestAttackByOneWhoConnects(t *testing.T) {
	t.Parallel()
	for _, addresses := range []int{4, 16} {
		s := scenario{addresses: addresses, names: 4 * addresses, rest: rest, visits: float64(addresses) / 750, seed: 1}
		smaller := s
		smaller.addresses -= policy.Share(addresses, 1)
		want := smaller.average(t).share()
		s.askers, s.comes, s.few, s.questions = oneAsker, true, addresses, float64(addresses)/100
		if got := s.average(t); got.share() < 0.95*want {
			t.Errorf("%d addresses: %s %% of %d visits, %s %% from a smaller pool", addresses, percent(got.share()), got.visits, percent(want))
		}
	}
}

// However many attack, names that hold their binding are served.
func TestAttackByAThousand(t *testing.T) {
	t.Parallel()
	s := scenario{addresses: 16, names: 64, rest: rest, visits: 0.05, askers: thousand24s, questions: 40, seed: 1}
	if got := s.run(t); float64(got.heard) < 0.99*float64(got.held) {
		t.Errorf("%d of %d visits to names that held their binding", got.heard, got.held)
	}
}

// BenchmarkAttack makes the table of docs/design/pool.md: percents of the honest visits that are served. Nothing is timed.
func BenchmarkAttack(b *testing.B) {
	for _, pause := range []time.Duration{rest, time.Second} {
		for _, addresses := range []int{4, 16, 256} {
			for _, names := range []int{addresses, 4 * addresses} {
				for _, attacker := range []string{"1 address", "30 of a /24", "1,000 /24s"} {
					for _, questions := range []float64{1, 10, 40} {
						s := scenario{addresses: addresses, names: names, rest: pause, visits: float64(addresses) / 750, askers: attackers[attacker], questions: questions}
						b.Run(fmt.Sprintf("rest=%s/addresses=%d/names=%d/%s/%.0f", pause, addresses, names, attacker, questions), s.benchmark)
					}
				}
			}
		}
	}
}

func (s scenario) benchmark(b *testing.B) {
	calm, smaller := s, s
	calm.askers, smaller.askers = nil, nil
	smaller.addresses -= policy.Share(s.addresses, policy.FirstReputation)
	for b.Loop() {
		got := s.average(b)
		b.ReportMetric(100*calm.average(b).share(), "%calm")
		b.ReportMetric(100*smaller.average(b).share(), "%smaller")
		b.ReportMetric(100*got.share(), "%served")
		b.ReportMetric(100*float64(got.heard)/float64(max(1, got.held)), "%holding")
		b.ReportMetric(0, "ns/op")
	}
}
