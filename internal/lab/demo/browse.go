package demo

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"github.com/realmgate/realmgate/internal/client"
	"github.com/realmgate/realmgate/internal/model"
)

// site is a web site of a host inside.
type site struct {
	name string
	host person
}

// sites are two of hosta and one of hostb.
func (s *story) sites() []site {
	return []site{{"shop." + plain(zone), s.hosta}, {"wiki." + plain(zone), s.hosta}, {"blog." + plain(zone), s.hostb}}
}

// sitesOf names those of a host.
func (s *story) sitesOf(host person) (names []string) {
	for _, of := range s.sites() {
		if of.host.name == host.name {
			names = append(names, of.name)
		}
	}
	return names
}

// web is the address that all web sites share.
func (s *story) web() netip.Addr {
	octets := s.realm.Gateway.PublicAddress.As4()
	octets[3] = 80
	return netip.AddrFrom4(octets)
}

// Step 2: web sites of several hosts at one address.
func (i inward) browse(ctx context.Context) error {
	i.tell.note("hosta has two web sites and hostb one. Each has its own certificate.",
		"All three names stand for one address, and browsers may remember that.", "")
	ann, bob := newBrowser(i.ann, i.resolver.IP), newBrowser(i.bob, i.resolver.IP)
	defer ann.leave()
	defer bob.leave()
	for _, of := range i.sites() {
		if err := i.reads(ctx, ann, of); err != nil {
			return err
		}
		if err := expect("the address for "+of.name, ann.known[of.name].address, i.web()); err != nil {
			return err
		}
		i.tell.say("ann opens https://%s/: %q", of.name, sitePage(of.name, of.host.name))
	}
	i.tell.note(fmt.Sprintf("Each time her browser connected to %s: the name that it says", i.web()),
		"first decides. The hosts saw her own address, and each sent its own",
		"certificate.")
	if err := i.clickAround(ctx, ann, bob); err != nil {
		return err
	}
	if err := i.listVisits(ctx, ann); err != nil {
		return err
	}
	ann.leave()
	for _, of := range i.sites() {
		if err := i.reads(ctx, ann, of); err != nil {
			return err
		}
	}
	if err := errors.Join(expect("questions of ann's browser", ann.asked, len(i.sites())), expect("connections of ann's browser", ann.opened, 2*len(i.sites()))); err != nil {
		return err
	}
	i.tell.say("ann closes all, and comes back. Her browser asks nobody: it remembers.")
	i.tell.see("address", i.web())
	i.tell.see("questions", ann.asked)
	i.tell.see("connections", ann.opened)
	return nil
}

// clickAround has two people read many pages, at the same time and over the connections that they have.
func (i inward) clickAround(ctx context.Context, ann, bob *browser) error {
	const rounds = 10
	read := func(b *browser) error {
		for range rounds {
			for _, of := range i.sites() {
				if err := i.reads(ctx, b, of); err != nil {
					return err
				}
			}
		}
		return nil
	}
	done := make(chan error, 1)
	go func() { done <- read(bob) }()
	if err := errors.Join(read(ann), <-done); err != nil {
		return err
	}
	all := len(i.sites())
	for _, b := range []*browser{ann, bob} {
		if err := errors.Join(expect("connections of "+b.name+"'s browser", b.opened, all), expect("questions of "+b.name+"'s browser", b.asked, all)); err != nil {
			return err
		}
	}
	i.tell.say("ann and bob read %d pages each, over %d connections that stay open.", rounds*all, all)
	i.tell.see("pages", rounds*all)
	return nil
}

// reads wants a site's page to be its own, and its host to see the browser's address.
func (i inward) reads(ctx context.Context, b *browser, of site) error {
	says, from, err := b.read(ctx, of.name)
	if err != nil {
		return err
	}
	at, err := netip.ParseAddrPort(from)
	if err != nil {
		return mismatch{"whom " + of.host.name + " saw", b.IP.String(), from}
	}
	return errors.Join(expect("the page that "+b.name+" gets", says, sitePage(of.name, of.host.name)), expect("whom "+of.host.name+" saw", at.Addr(), b.IP))
}

// listVisits wants each of somebody's connections to be listed with the name that it asked for.
func (i inward) listVisits(ctx context.Context, b *browser) error {
	sessions, err := i.gateway.sessions(ctx, client.Filter{Address: b.IP, Protocol: model.TCP})
	if err != nil {
		return err
	}
	lines := map[string]string{}
	for _, s := range sessions {
		lines[plain(s.Name)] = fmt.Sprintf("  %s %s -> %s -> %s", b.name, s.Remote, s.External, s.Private)
	}
	if err := expect("sessions of "+b.name, len(sessions), len(i.sites())); err != nil {
		return err
	}
	i.tell.say("The gateway's list of sessions has the name of each:")
	for _, of := range i.sites() {
		line := lines[of.name]
		if !strings.HasSuffix(line, "-> "+netip.AddrPortFrom(of.host.IP, secureInsidePort).String()) {
			return mismatch{"the session of " + of.name, of.host.name, line}
		}
		host, _, _ := strings.Cut(of.name, ".")
		i.tell.note(line + ": " + host)
	}
	i.tell.see("sessions", sessions)
	return nil
}
