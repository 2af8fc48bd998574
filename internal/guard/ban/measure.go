package ban

import "github.com/realmgate/realmgate/internal/metrics/metric"

// counts are bans by why they were made.
type counts struct{ byHand, offences, subnets int }

func (c *counts) count(made []Ban) {
	for _, b := range made {
		switch {
		case b.Offence > 0:
			c.offences++
		case b.byHand():
			c.byHand++
		default:
			c.subnets++
		}
	}
}

func (c counts) put(page metric.Page, m metric.Metric) {
	page.Put(m, float64(c.byHand), Manual)
	page.Put(m, float64(c.offences), "offence")
	page.Put(m, float64(c.subnets), "subnet")
}

// Measure says how many bans there are, and how many were made.
func (s *state) Measure(page metric.Page) error {
	s.mutex.Lock()
	all, byHand, offences, made := s.list.bans.Size(), s.list.byHand, s.list.automatic, s.made
	s.mutex.Unlock()
	counts{byHand, offences, all - byHand - offences}.put(page, metric.Bans)
	made.put(page, metric.BansMade)
	return nil
}
