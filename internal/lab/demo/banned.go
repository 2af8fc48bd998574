package demo

import (
	"context"
	"net/netip"

	"github.com/realmgate/realmgate/internal/client"
	"github.com/realmgate/realmgate/internal/model"
)

const bannedReason = model.ReasonDropBanned

// stillComes is what may arrive of a download after its end: what was under way.
const stillComes = downloadSize / 10

// Step 7: a ban ends what goes on, and lets nothing begin, until it is removed.
func (s *story) ban(ctx context.Context) error {
	v, d, err := s.beginDownload(ctx)
	if err != nil {
		return err
	}
	defer v.close()
	ban := client.BanRequest{Prefixes: []netip.Prefix{netip.PrefixFrom(s.bob.IP, s.bob.IP.BitLen())}}
	var at int64
	drop, err := s.dropOf(ctx, s.bob, func() error {
		_, err := s.gateway.client.AddBans(ctx, ban)
		at = d.octets.Load()
		return err
	})
	if err == nil {
		err = expect("why a packet of bob's was dropped", drop.Reason, bannedReason)
	}
	if err != nil {
		return err
	}
	s.tell.say("bob's address is banned. The next packet from or to it: %s", drop.Reason)
	s.tell.note("He tries to come again.")
	drop, err = s.dropOf(ctx, s.bob, func() error { return s.knock(ctx, s.bob, s.lentWeb()) })
	if err == nil {
		err = expect("why a packet of bob's was dropped", drop.Reason, bannedReason)
	}
	if err != nil {
		return err
	}
	if more := d.octets.Load() - at; more > stillComes {
		return mismatch{"the download after the ban", "at most " + size(stillComes) + ", which were under way", size(more)}
	}
	s.tell.say("His download has ended at %s of %s.", size(d.octets.Load()), size(downloadSize))
	s.tell.see("reason", drop.Reason)
	s.tell.see("octets", d.octets.Load())
	v.close() // nothing of it comes back
	if _, err := s.gateway.client.RemoveBans(ctx, ban); err != nil {
		return err
	}
	s.tell.say("The ban is removed. bob asks for %s again.", plain(nameOf(s.hosta)))
	if _, err := s.bob.ask(ctx, s.resolver.IP, nameOf(s.hosta)); err != nil {
		return err
	}
	again, err := s.call(ctx, s.bob, s.hosta)
	again.close()
	return err
}
