package demo

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"golang.org/x/sys/unix"

	"github.com/realmgate/realmgate/internal/lab/packets"
)

const honeypotPort = 23 // telnet: nobody has anything to do there

// forged is how many SYNs are sent in another's name.
const forged = 500

// Step 3: who connects to a honeypot is banned, and nobody in whose name only SYNs come.
func (s *siege) honeypot(ctx context.Context) error {
	s.tell.note("A honeypot is added, at ports where nobody has anything to do.", "")
	if err := s.add(ctx, fmt.Sprintf("  honeypot: {tcp: [%d, 2323], bantime: 1h}\n", honeypotPort)); err != nil {
		return err
	}
	to := netip.AddrPortFrom(s.realm.Gateway.PublicAddress, honeypotPort)
	if err := s.forge(ctx, to); err != nil {
		return err
	}
	wait, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	connection, err := s.scanner.DialContext(wait, "tcp4", to.String())
	if err != nil {
		return fmt.Errorf("the honeypot does not answer at %s: %w", to, err)
	}
	since := time.Now()
	_ = connection.Close() // it has seen enough
	s.tell.say("The scanner connects to %s itself. It is answered.", to)
	ban, took, err := s.banned(ctx, s.scanner.person, since)
	if err != nil {
		return err
	}
	s.tell.say("Within %s it is banned: %s", milliseconds(took), ban.Reason)
	s.tell.note("It tries the service.")
	s.tell.see("ban", ban)
	s.tell.see("milliseconds", took.Seconds()*1000)
	return s.shutOut(ctx, &s.scanner, bannedReason)
}

// forge has the scanner send SYNs to the honeypot in ann's name.
func (s *siege) forge(ctx context.Context, to netip.AddrPort) error {
	before, err := s.protection(ctx, "honeypot")
	if err != nil {
		return err
	}
	if err := s.sendForged(ctx, to); err != nil {
		return err
	}
	err = await(ctx, "the honeypot takes the forged packets", func() (bool, string, error) {
		now, err := s.protection(ctx, "honeypot")
		return now.Dropped-before.Dropped >= forged/2, fmt.Sprintf("%d of %d", now.Dropped-before.Dropped, forged), err
	})
	if err == nil {
		err = s.ann.lines.more(ctx, 5) // a ban would have come by then
	}
	if err == nil {
		_, err = s.bannedAre(ctx)
	}
	if err != nil {
		return err
	}
	s.tell.say("The scanner sends %d SYNs to port %d, in ann's name. Nobody is banned:", forged, honeypotPort)
	s.tell.note("a sender can be forged, but not who takes the answer. ann reads on.")
	s.tell.see("forged", forged)
	return nil
}

// sendForged sends them no faster than a cable's queue takes them.
func (s *siege) sendForged(ctx context.Context, to netip.AddrPort) error {
	own, err := s.scanner.MAC("eth0")
	if err != nil {
		return err
	}
	router, err := s.realm.Router.MAC("remote")
	if err != nil {
		return err
	}
	frames, err := s.scanner.Frames("eth0")
	if err != nil {
		return err
	}
	for n := 0; n < forged && err == nil; {
		p := packets.NewTCP(netip.AddrPortFrom(annLives.address, uint16(10000+n)), to, packets.SYN, "")
		err = frames.Send(p.Between(packets.MAC(own), packets.MAC(router)).Bytes())
		full := errors.Is(err, unix.ENOBUFS) // it is sent again
		if !full {
			n++
		}
		if full || n%perPace == 0 && err == nil {
			err = rest(ctx, pace)
		}
	}
	return errors.Join(err, frames.Close())
}
