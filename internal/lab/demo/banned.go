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

// Step 8: a ban ends what goes on, and lets nothing begin, until it is removed.
func (on abuse) ban(ctx context.Context) error {
	v, d, err := on.beginDownload(ctx)
	if err != nil {
		return err
	}
	defer v.close()
	ban := client.BanRequest{Prefixes: []netip.Prefix{netip.PrefixFrom(on.bob.IP, on.bob.IP.BitLen())}}
	var at int64
	drop, err := on.dropOf(ctx, on.bob, func() error {
		_, err := on.gateway.client.BanEditor().Add(ctx, ban)
		at = d.octets.Load()
		return err
	})
	if err == nil {
		err = expect("why a packet of bob's was dropped", drop.Reason, bannedReason)
	}
	if err != nil {
		return err
	}
	on.tell.say("bob's address is banned. The next packet from or to it: %s", drop.Reason)
	on.tell.note("bob tries to come again.")
	drop, err = on.dropOf(ctx, on.bob, func() error { return on.unanswered(ctx, on.bob, on.lentWeb()) })
	if err == nil {
		err = expect("why a packet of bob's was dropped", drop.Reason, bannedReason)
	}
	if err != nil {
		return err
	}
	if more := d.octets.Load() - at; more > stillComes {
		return mismatch{"the download after the ban", "at most " + size(stillComes) + ", which were under way", size(more)}
	}
	on.tell.say("bob's download has ended at %s of %s.", size(d.octets.Load()), size(downloadSize))
	on.tell.see("reason", drop.Reason)
	on.tell.see("octets", d.octets.Load())
	v.close() // nothing of it comes back
	if _, err := on.gateway.client.BanEditor().Remove(ctx, ban); err != nil {
		return err
	}
	on.tell.say("The ban is removed. bob asks for %s again.", plain(nameOf(on.hosta)))
	if _, err := on.bob.ask(ctx, on.resolver.IP, nameOf(on.hosta)); err != nil {
		return err
	}
	again, err := on.call(ctx, on.bob, on.hosta)
	again.close()
	return err
}
