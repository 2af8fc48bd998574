package demo

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/realmgate/realmgate/internal/client"
	"github.com/realmgate/realmgate/internal/model"
)

// Step 3: a name becomes a connection.
func (i inward) reachByName(ctx context.Context) error {
	i.tell.note("Web sites are told apart by what visitors send. For all else, as for",
		"this server of hosta's, the gateway lends a public address by name.",
		"ann's resolver, the server that looks names up, asks the gateway.", "")
	got, err := i.ann.ask(ctx, i.resolver.IP, nameOf(i.hosta))
	if err != nil {
		return err
	}
	want := []string{traceTruncated, traceTCP}
	if !slices.Equal(got.trace, want) {
		return mismatch{"how the resolver asked the gateway", strings.Join(want, "; "), strings.Join(got.trace, "; ")}
	}
	i.tell.say("ann asks for %s.", plain(nameOf(i.hosta)))
	i.tell.say("Over UDP her resolver %s is told: come again over TCP.", i.resolver.IP)
	i.tell.note("That proves who asks: the sender of a UDP packet can be faked.")
	if err := expect("the address for "+nameOf(i.hosta), got.address, i.lent()); err != nil {
		return err
	}
	i.tell.say("It comes over TCP and gets %s. In all: %s.", got.address, milliseconds(got.took))
	i.tell.see("address", got.address)
	i.tell.see("resolver", got.trace)
	i.tell.see("milliseconds", got.took.Seconds()*1000)

	if i.annVisit, err = i.call(ctx, i.ann, i.hosta); err != nil {
		return err
	}
	session, err := i.translated(ctx, i.annVisit, i.hosta)
	if err != nil {
		return err
	}
	i.tell.say("The gateway's list of sessions shows who she really talks to:")
	i.tell.note(describe(i.ann, session, i.hosta))
	i.tell.see("session", session)
	return nil
}

// Step 4: one address, two hosts, at once.
func (i inward) lendAgain(ctx context.Context) (err error) {
	if i.annLines, err = i.annVisit.stream(ctx, i.hosta.name); err != nil {
		return err
	}
	if err := i.annLines.more(ctx, 2); err != nil {
		return err
	}
	i.tell.say("ann stays connected: hosta sends her a line every %d ms.", lineEvery.Milliseconds())
	got, err := i.bob.ask(ctx, i.resolver.IP, nameOf(i.hostb))
	if err != nil {
		return err
	}
	if err := expect("the address for "+nameOf(i.hostb), got.address, i.lent()); err != nil {
		return err
	}
	i.tell.say("bob asks for %s.", plain(nameOf(i.hostb)))
	i.tell.say("After %.1f s bob gets %s: the same address.", got.took.Seconds(), got.address)
	i.tell.note("There is no other: bob's question waited until it had rested. Who was",
		"told it for hosta and comes only now is refused, and never gets hostb.")
	i.tell.see("address", got.address)
	i.tell.see("waited_seconds", got.took.Seconds())
	if i.bobVisit, err = i.call(ctx, i.bob, i.hostb); err != nil {
		return err
	}
	i.bobCame = time.Now()
	if i.bobLines, err = i.bobVisit.stream(ctx, i.hostb.name); err != nil {
		return err
	}
	const lines = 10
	if err := i.bothRead(ctx, lines); err != nil {
		return err
	}
	i.tell.say("Both read on, %d lines each, at the same time.", lines)
	i.tell.note("ann's are all from hosta, and bob's are all from hostb.")
	first, err := i.translated(ctx, i.annVisit, i.hosta)
	if err != nil {
		return err
	}
	second, err := i.translated(ctx, i.bobVisit, i.hostb)
	if err != nil {
		return err
	}
	i.tell.say("Two sessions, one address:")
	i.tell.note(describe(i.ann, first, i.hosta), describe(i.bob, second, i.hostb))
	i.tell.see("sessions", []client.Session{first, second})
	return nil
}

// bothRead waits until ann and bob each got n more lines from the right host.
func (s *story) bothRead(ctx context.Context, n int64) error {
	ann := make(chan error, 1)
	go func() { ann <- s.annLines.more(ctx, n) }()
	return errors.Join(s.bobLines.more(ctx, n), <-ann)
}

// call connects somebody to a host at the lent address and reads its page.
func (s *story) call(ctx context.Context, who, host person) (*visit, error) {
	v, err := who.visit(ctx, netip.AddrPortFrom(s.lent(), webPort))
	if err != nil {
		return nil, err
	}
	says, from, err := v.page(ctx)
	if err == nil {
		err = expect("the page that "+who.name+" gets", says, greeting(host.name))
	}
	if err == nil {
		err = expect("whom "+host.name+" saw", from, v.local().String())
	}
	if err != nil {
		v.close()
		return nil, err
	}
	s.tell.say("%s opens http://%s/ and reads: %q", who.name, s.lent(), says)
	s.tell.note(fmt.Sprintf("%s saw the call come from %s: %s's own address.", host.name, from, who.name))
	s.tell.see(who.name+"_reads", says)
	return v, nil
}

// translated finds a visit in the gateway's list of sessions.
func (i inward) translated(ctx context.Context, v *visit, host person) (client.Session, error) {
	var found client.Session
	what := fmt.Sprintf("the session of %s is listed", v.local())
	err := await(ctx, what, func() (bool, string, error) {
		sessions, err := i.gateway.sessions(ctx, client.Filter{
			Address: v.local().Addr(), Port: v.local().Port(), Protocol: model.TCP,
		})
		if err != nil || len(sessions) != 1 {
			return false, fmt.Sprintf("%d sessions", len(sessions)), err
		}
		found = sessions[0]
		return true, "", nil
	})
	if err != nil {
		return found, err
	}
	return found, errors.Join(
		expect("its endpoint outside", found.Remote, v.local()),
		expect("its endpoint at the gateway", found.External, v.remote()),
		expect("its endpoint inside", found.Private, netip.AddrPortFrom(host.IP, insidePort)),
		expect("the name that was asked for", found.Name, nameOf(host)),
	)
}

// describe writes a session that came from outside.
func describe(who person, session client.Session, host person) string {
	return fmt.Sprintf("  %s %s -> %s -> %s %s", who.name, session.Remote, session.External, host.name, session.Private)
}

func milliseconds(d time.Duration) string { return fmt.Sprintf("%.1f ms", d.Seconds()*1000) }
