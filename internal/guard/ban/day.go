package ban

import "time"

// now is the clock of the day, by which bans end, without the reading that stands still
// while the machine sleeps. When it was set, what began by it moves along. Under the mutex.
func (s *Service) now() time.Time {
	now := time.Now().Round(0)
	if from, by := s.clock.Look(now, s.Running()); by != 0 {
		s.move(from, by)
	}
	return now
}

// move keeps the length of bans that began by a clock which was wrong. Those from before
// end by the clock that is right now: the kernel, which has another, must be told when.
func (s *Service) move(from time.Time, by time.Duration) {
	bans, offenders := s.list.Shift(from, by), s.offences.Shift(from, by)
	s.noteChanged(bans, offenders)
	s.late = true
	s.Log.Warn("clock set", "by", by, "bans", len(bans))
}
