package demo

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/realmgate/realmgate/internal/client"
	"github.com/realmgate/realmgate/internal/model"
)

// Step 5: the counters have what was seen, and who is no longer banned comes in.
func (s *siege) count(ctx context.Context) error {
	if err := s.countFunctions(ctx); err != nil {
		return err
	}
	if err := s.countReasons(ctx); err != nil {
		return err
	}
	bans, err := s.bannedAre(ctx)
	if err != nil {
		return err
	}
	s.tell.say("realmgate ban list:")
	for _, b := range bans {
		s.tell.note(fmt.Sprintf("  %-13s %6s left  %s", b.Prefix, time.Until(b.Until).Round(time.Second), b.Reason))
	}
	s.tell.see("bans", bans)
	return s.forgive(ctx)
}

// countFunctions tells what the functions did that have done something by now.
func (s *siege) countFunctions(ctx context.Context) error {
	var functions []client.Function
	for _, use := range []string{"honeypot", "geofence"} {
		f, err := s.protection(ctx, use)
		if err != nil {
			return err
		}
		if f.Dropped == 0 {
			return mismatch{"what the " + use + " dropped", "some packets", "none"}
		}
		functions = append(functions, f)
	}
	s.tell.say("realmgate chain show protection:")
	for _, f := range functions {
		s.tell.note(fmt.Sprintf("  %-9s seen %6d   dropped %6d", f.Name, f.Seen, f.Dropped))
	}
	s.tell.see("functions", functions)
	return nil
}

// countReasons tells how the packets of this story ended, by what realmgate status says.
func (s *siege) countReasons(ctx context.Context) error {
	status, err := s.gateway.client.Status(ctx)
	if err != nil {
		return err
	}
	s.tell.say("realmgate status, of the packets that ended for a reason of these:")
	seen := map[model.Reason]uint64{}
	for _, reason := range []model.Reason{model.ReasonAnsweredHoneypot, model.ReasonDropHoneypot, deniedReason, bannedReason} {
		i := slices.IndexFunc(status.Reasons, func(r client.ReasonCount) bool { return r.Reason == reason })
		if i < 0 {
			return mismatch{"packets that ended with " + string(reason), "some", "none"}
		}
		seen[reason] = status.Reasons[i].Packets
		s.tell.note(fmt.Sprintf("  %-13s %6d", reason, seen[reason]))
	}
	s.tell.see("reasons", seen)
	return nil
}

// forgive removes the guesser's ban.
func (s *siege) forgive(ctx context.Context) error {
	s.guesser.visit.close() // nothing of it comes back
	who := []netip.Prefix{netip.PrefixFrom(s.guesser.IP, s.guesser.IP.BitLen())}
	removed, err := s.gateway.client.BanEditor().Remove(ctx, client.BanRequest{Prefixes: who})
	if err == nil {
		err = expect("bans that were removed", removed.Prefixes, 1)
	}
	if err != nil {
		return err
	}
	s.bans--
	s.tell.say("realmgate ban remove %s. The guesser comes again.", s.guesser.IP)
	if err := s.open(ctx, &s.guesser); err != nil {
		return err
	}
	s.tell.say("hosta sends it lines.")
	_, err = s.bannedAre(ctx)
	return err
}
