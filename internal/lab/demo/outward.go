package demo

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"syscall"
	"time"

	"github.com/realmgate/realmgate/internal/client"
	"github.com/realmgate/realmgate/internal/model"
)

// Step 5: from inside to outside.
func (o outward) reachOut(ctx context.Context) error {
	gateway := o.realm.Gateway
	got, err := o.hosta.ask(ctx, gateway.PrivateAddress, websiteName)
	if err != nil {
		return err
	}
	if err := expect("the address of "+websiteName, got.address, o.website.IP); err != nil {
		return err
	}
	status, err := o.gateway.client.Status(ctx)
	if err != nil {
		return err
	}
	if err := expect("names that the gateway had to ask others for", status.DNS.Forwarded, 1); err != nil {
		return err
	}
	o.tell.say("hosta asks the gateway for %s.", plain(websiteName))
	o.tell.say("The gateway asks the resolver outside, and answers %s.", got.address)
	v, err := o.hosta.visit(ctx, netip.AddrPortFrom(got.address, webPort))
	if err != nil {
		return err
	}
	defer v.close()
	says, from, err := v.page(ctx)
	if err != nil {
		return err
	}
	if err := expect("the page that hosta gets", says, greeting(o.website.name)); err != nil {
		return err
	}
	o.tell.say("hosta, %s, opens it and reads: %q", v.local(), says)
	// The outbound address is nobody else's, so every port is free: it is kept.
	want := netip.AddrPortFrom(gateway.Outbound, v.local().Port()).String()
	if err := expect("whom the website saw", from, want); err != nil {
		return err
	}
	o.tell.say("The website saw %s, and never %s.", from, o.hosta.IP)
	o.tell.note("The gateway put its own address in place of the private one.",
		fmt.Sprintf("What follows the colon, the port, is still hosta's: %d.", v.local().Port()))
	o.tell.see("private", v.local())
	o.tell.see("website_saw", from)
	return nil
}

// strangerWaits is how long one waits who gets no answer. Its system sends a second packet
// after a second: the first may come before the gateway shows what it drops.
const strangerWaits = 1200 * time.Millisecond

// atOnce is within what time who is refused knows it: a system whose packets are lost would
// send the next after a second.
const atOnce = 900 * time.Millisecond

const dropReason = model.ReasonDropNoReservation

// Step 6: an address that was lent to others is of no use to a stranger.
func (o outward) refuseStranger(ctx context.Context) error {
	o.tell.note(fmt.Sprintf("The stranger has seen %s in use.", o.lent()),
		"It calls it without asking for a name.", "")
	if err := o.nobodyExpected(ctx); err != nil {
		return err
	}
	drop, err := o.dropOf(ctx, o.stranger, func() error {
		took, err := o.turnedAway(ctx, o.stranger, o.lentWeb())
		if err == nil {
			o.tell.say("Within %s it is refused by %s.", milliseconds(took), o.lentWeb())
			o.tell.see("milliseconds", took.Seconds()*1000)
		}
		return err
	}, func() error { // the first packet may come before the gateway shows what it drops
		_, err := o.turnedAway(ctx, o.stranger, o.lentWeb())
		return err
	})
	if err != nil {
		return err
	}
	return o.explainDrop(ctx, drop)
}

// othersCome is for how long others than the first may come by a resolver's answer: it asks
// once for all its clients.
const othersCome = 1100 * time.Millisecond

// nobodyExpected waits until no answer waits for a client.
func (o outward) nobodyExpected(ctx context.Context) error {
	return await(ctx, "no answer waits for a client", func() (bool, string, error) {
		open := 0
		bindings, err := o.gateway.client.Pool(ctx, client.Filter{})
		for _, b := range bindings {
			open += b.Reservations
		}
		return err == nil && open == 0 && time.Since(o.bobCame) > othersCome, fmt.Sprintf("%d answers", open), err
	})
}

// turnedAway tries to connect, which must be refused at once.
func (o outward) turnedAway(ctx context.Context, who person, target netip.AddrPort) (took time.Duration, err error) {
	wait, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	began := time.Now()
	connection, err := who.DialContext(wait, "tcp", target.String())
	took = time.Since(began)
	switch {
	case err == nil:
		_ = connection.Close() // nobody should get it
		return took, mismatch{"what " + who.name + " gets from " + target.String(), "a refusal", "a connection"}
	case !errors.Is(err, syscall.ECONNREFUSED):
		return took, mismatch{"what " + who.name + " gets from " + target.String(), "a refusal", err.Error()}
	case took > atOnce:
		return took, mismatch{"when " + who.name + " was refused", "at once", took.String()}
	}
	return took, nil
}

// dropOf returns the first packet from or to somebody that the gateway shows as dropped
// while something is done, and done again if it shows none.
func (s *stage) dropOf(ctx context.Context, who person, do func() error, again ...func() error) (drop client.Drop, err error) {
	watch, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	listening, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- s.gateway.client.Drops(watch, client.Filter{Address: who.IP}, func() { close(listening) },
			func(d client.Drop) bool {
				drop = d
				return false
			})
	}()
	select {
	case <-listening:
	case err := <-ended:
		return drop, fmt.Errorf("watch the drops: %w", err)
	}
	if err := do(); err != nil {
		return drop, err
	}
	err = untilEnded(ended, again)
	if errors.Is(err, context.DeadlineExceeded) {
		return drop, mismatch{"what the gateway shows of " + who.name + "'s packets", "a drop", "none"}
	}
	if err != nil {
		return drop, fmt.Errorf("watch the drops: %w", err)
	}
	return drop, nil
}

// untilEnded waits for the end, and does something now and then meanwhile.
func untilEnded(ended <-chan error, again []func() error) error {
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case err := <-ended:
			return err
		case <-tick.C:
		}
		for _, do := range again {
			if err := do(); err != nil {
				return err
			}
		}
	}
}

// unanswered tries to connect, which must get no answer at all.
func (s *stage) unanswered(ctx context.Context, who person, target netip.AddrPort) error {
	wait, cancel := context.WithTimeout(ctx, strangerWaits)
	defer cancel()
	began := time.Now()
	connection, err := who.DialContext(wait, "tcp", target.String())
	took := time.Since(began)
	if err == nil {
		_ = connection.Close() // nobody should get it
		return mismatch{"what " + who.name + " gets from " + target.String(), "no answer", "a connection"}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, os.ErrDeadlineExceeded) {
		return mismatch{"what " + who.name + " gets from " + target.String(), "no answer", err.Error()}
	}
	s.tell.say("No answer comes from %s, and after %.1f s the attempt ends.", target, took.Seconds())
	return nil
}

func (o outward) explainDrop(ctx context.Context, drop client.Drop) error {
	err := errors.Join(
		expect("why the stranger's packet was dropped", drop.Reason, dropReason),
		expect("where it came from", drop.Tuple.Source.Addr(), o.stranger.IP),
		expect("where it went", drop.Tuple.Destination, netip.AddrPortFrom(o.lent(), webPort)),
	)
	if err != nil {
		return err
	}
	o.tell.say("The gateway says why: %s", drop.Reason)
	o.tell.note("  "+drop.Tuple.String(), "In words: no host was asked for, so none can be meant.")
	if err := o.bothRead(ctx, 2); err != nil {
		return err
	}
	o.tell.say("ann and bob, at that same address and port, read on.")
	o.tell.see("reason", drop.Reason)
	o.tell.see("tuple", drop.Tuple)
	return nil
}
