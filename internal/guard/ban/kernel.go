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
	excluded Exclusions // what of the list is exempt
	late     bool       // the kernel has not just what is in force
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
	if before != nil && before.exempt.Same(next.exempt) {
		return next, nil
	}
	return next, s.exclude()
}

// exemptAgain lets bans drop nobody who must not be banned any more, and those again who
// may. It is for after a change of who that is.
func (s *Service) exemptAgain() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.guard == nil { // before they are loaded, which does it
		return
	}
	if _, err := s.lookAtGuard(); err != nil {
		s.Log.Error("exemptions not in force", "error", err)
	}
}

// ExemptSoon has Run look who must not be banned: who calls it does not wait for the disk.
func (s *Service) ExemptSoon() {
	select {
	case s.look <- struct{}{}:
	default:
	}
}

// syncKernel makes the kernel have just what is in force of the bans.
func (s *inKernel) syncKernel() error {
	s.setExcluded(s.list.Exclude(s.guard.exempt))
	var excluded []netip.Prefix
	for p := range s.excluded.Prefixes {
		excluded = append(excluded, p)
	}
	if err := s.kernel.ExcludeFromBans(excluded); err != nil { // first: nobody of them is dropped meanwhile
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
	return s.excluded.Prefixes[p] || s.list.Has(p) && !s.excluded.Whole[p]
}

// exclude brings what is exempt of the bans up to date. Only bans that somebody exempt is in
// or was in are touched in the kernel.
func (s *inKernel) exclude() error {
	next := s.list.Exclude(s.guard.exempt)
	begin, end, open, closed := s.excluded.Changes(next)
	s.setExcluded(next)
	if len(begin)+len(end)+len(open)+len(closed) == 0 {
		return nil
	}
	s.Log.Info("exemptions changed", "exempt", len(next.Whole), "exempt_in_part", len(next.Part), "by_prefixes", len(next.Prefixes))
	gone := slices.DeleteFunc(slices.Concat(end, closed), s.isInKernel)
	begin = slices.DeleteFunc(append(begin, closed...), func(p netip.Prefix) bool { return !s.list.Has(p) })
	err := errors.Join(s.kernel.ExcludeFromBans(open), s.kernel.DeleteBans(gone), s.kernel.PutBans(s.effective(begin)), s.kernel.JudgeAgain())
	s.late = s.late || err != nil
	return err
}

func (s *inKernel) setExcluded(next Exclusions) {
	for _, p := range next.Over {
		if !slices.Contains(s.excluded.Over, p) {
			s.Log.Warn("ban not in force", "hint", "too many prefixes under it are exempt", "ban", p, "most", MostExcluded)
		}
	}
	s.excluded = next
}

// effective is until when the kernel drops packets of the prefixes of bans. It leaves out
// those that are exempt.
func (s *inKernel) effective(prefixes []netip.Prefix) map[netip.Prefix]time.Time {
	until := make(map[netip.Prefix]time.Time, len(prefixes))
	for _, p := range prefixes {
		if !s.excluded.Whole[p] {
			until[p], _ = s.list.Effective(p)
		}
	}
	return until
}

// lift ends bans in the kernel that the list has no more; those of narrower prefixes
// may end earlier now, and nobody need be exempt under those that are gone. What the kernel
// refuses follow tries again.
func (s *inKernel) lift(removed []netip.Prefix) error {
	var err error
	if s.excluded.Touches(removed) {
		err = s.exclude()
	}
	gone := slices.DeleteFunc(slices.Clone(removed), s.isInKernel)
	err = errors.Join(err, s.kernel.DeleteBans(gone), s.kernel.PutBans(s.effective(s.list.Under(removed))))
	s.late = s.late || err != nil
	return err
}
