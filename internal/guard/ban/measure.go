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

func (c counts) all() int { return c.byHand + c.offences + c.subnets }

// totals are bans in force, and those that were made.
type totals struct{ now, made counts }

// total counts, or returns what was counted last: it waits for nobody who changes many bans, or for a disk that is slow.
func (s *state) total() totals {
	if s.mutex.TryLock() {
		all, byHand, offences := s.list.bans.Size(), s.list.byHand, s.list.automatic
		s.known.Store(&totals{counts{byHand, offences, all - byHand - offences}, s.made})
		s.mutex.Unlock()
	}
	if known := s.known.Load(); known != nil {
		return *known
	}
	return totals{}
}

// Measure says how many bans there are, and how many were made.
func (s *state) Measure(page metric.Page) error {
	total := s.total()
	total.now.put(page, metric.Bans)
	total.made.put(page, metric.BansMade)
	return nil
}
