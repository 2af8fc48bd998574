package ban

import (
	"errors"
	"net/netip"
	"slices"
	"time"
)

// inKernel is the bans in the kernel.
type inKernel struct {
	*state
	cut  Cut  // what of the list the guard spares
	late bool // the kernel has not just what is in force
}

// lookAtGuard learns who must not be banned, and takes those out of the bans that there
// are. Under the mutex.
func (s *Service) lookAtGuard() (*guard, error) {
	before := s.guard
	next, err := s.newGuard()
	if err != nil {
		return nil, err
	}
	s.guard = next
	if before != nil && before.spared.Same(next.spared) {
		return next, nil
	}
	return next, s.recut()
}

// spareAgain lets bans drop nobody who must not be banned any more, and those again who
// may. It is for after a change of who that is.
func (s *Service) spareAgain() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.guard == nil { // before they are loaded, which does it
		return
	}
	if _, err := s.lookAtGuard(); err != nil {
		s.Log.Error("exemptions not in force", "error", err)
	}
}

// SpareSoon has Run look who must not be banned: who calls it does not wait for the disk.
func (s *Service) SpareSoon() {
	select {
	case s.look <- struct{}{}:
	default:
	}
}

// syncKernel makes the kernel have just what is in force of the bans.
func (s *inKernel) syncKernel() error {
	s.setCut(s.list.Cut(s.guard.spared))
	var holes []netip.Prefix
	for p := range s.cut.Holes {
		holes = append(holes, p)
	}
	if err := s.kernel.SpareUnderBans(holes); err != nil { // first: nobody of them is dropped meanwhile
		return err
	}
	all := s.list.All()
	prefixes := make([]netip.Prefix, len(all))
	for i, b := range all {
		prefixes[i] = b.Prefix
	}
	if err := s.kernel.PutBans(s.effective(prefixes)); err != nil {
		return err
	}
	inKernel, err := s.kernel.Banned()
	if err != nil {
		return err
	}
	return s.kernel.DeleteBans(slices.DeleteFunc(inKernel, s.isInKernel))
}

// isInKernel reports whether the kernel is to have an entry of a prefix.
func (s *inKernel) isInKernel(p netip.Prefix) bool {
	return s.cut.Holes[p] || s.list.Has(p) && !s.cut.Whole[p]
}

// recut brings what is spared of the bans up to date. Only bans that somebody spared is in
// or was in are touched in the kernel.
func (s *inKernel) recut() error {
	next := s.list.Cut(s.guard.spared)
	begin, end, open, closed := s.cut.Changes(next)
	s.setCut(next)
	if len(begin)+len(end)+len(open)+len(closed) == 0 {
		return nil
	}
	s.Log.Info("exemptions changed", "spared", len(next.Whole), "spared_in_part", len(next.Part), "by_prefixes", len(next.Holes))
	gone := slices.DeleteFunc(slices.Concat(end, closed), s.isInKernel)
	begin = slices.DeleteFunc(append(begin, closed...), func(p netip.Prefix) bool { return !s.list.Has(p) })
	err := errors.Join(s.kernel.SpareUnderBans(open), s.kernel.DeleteBans(gone), s.kernel.PutBans(s.effective(begin)), s.kernel.JudgeAgain())
	s.late = s.late || err != nil
	return err
}

func (s *inKernel) setCut(next Cut) {
	for _, p := range next.Over {
		if !slices.Contains(s.cut.Over, p) {
			s.Log.Warn("ban not in force", "hint", "too many prefixes under it are exempt", "ban", p, "most", MostHoles)
		}
	}
	s.cut = next
}

// effective is until when the kernel drops packets of the prefixes of bans. It leaves out
// those that are spared.
func (s *inKernel) effective(prefixes []netip.Prefix) map[netip.Prefix]time.Time {
	until := make(map[netip.Prefix]time.Time, len(prefixes))
	for _, p := range prefixes {
		if !s.cut.Whole[p] {
			until[p], _ = s.list.Effective(p)
		}
	}
	return until
}

// lift ends bans in the kernel that the list has no more; those of narrower prefixes
// may end earlier now, and nobody need be spared under those that are gone. What the kernel
// refuses follow tries again.
func (s *inKernel) lift(removed []netip.Prefix) error {
	var err error
	if s.cut.Touches(removed) {
		err = s.recut()
	}
	gone := slices.DeleteFunc(slices.Clone(removed), s.isInKernel)
	err = errors.Join(err, s.kernel.DeleteBans(gone), s.kernel.PutBans(s.effective(s.list.Under(removed))))
	s.late = s.late || err != nil
	return err
}
