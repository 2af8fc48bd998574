package gateway

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"

	"github.com/realmgate/realmgate/internal/config"
	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/outbound"
)

// resolved is a configuration with the addresses of now, where it names interfaces for the pool and the name server.
func resolved(c *config.Config, of []netip.Addr) (*config.Config, error) {
	if len(c.Pool.Interfaces) == 0 && c.DNS.Interface == "" {
		return c, nil
	}
	now := *c
	found, err := addressesOf(c, c.Pool.Interfaces, of)
	if err != nil {
		return nil, err
	}
	now.Pool.Addresses = slices.Clone(c.Pool.Addresses)
	for _, a := range found {
		if !slices.Contains(now.Pool.Addresses, a) {
			now.Pool.Addresses = append(now.Pool.Addresses, a)
		}
	}
	if c.DNS.Interface == "" {
		return &now, nil
	}
	if found, err = addressesOf(c, []string{c.DNS.Interface}, of); err == nil && len(found) > 0 {
		now.DNS.Public = netip.AddrPortFrom(found[0], c.DNS.Public.Port())
	}
	return &now, err
}

// configOfNow is resolved before the gateway runs.
func configOfNow(c *config.Config) (*config.Config, error) {
	addresses, err := planOf(c).Look()
	if err != nil {
		return nil, err
	}
	return resolved(c, addresses)
}

// addressesOf are the outbound addresses that interfaces have.
func addressesOf(c *config.Config, interfaces []string, of []netip.Addr) ([]netip.Addr, error) {
	found, err := outbound.Plan{Interfaces: interfaces, Private: c.Interfaces.Private}.Look()
	return slices.DeleteFunc(found, func(a netip.Addr) bool { return !slices.Contains(of, a) }), err
}

// followedPlane takes addresses that have left their interface out of the pool before they are outbound no more, so that
// nobody answers ARP for them, and ends the sessions there.
type followedPlane struct{ *Gateway }

// SetOutbound implements outbound.Plane.
func (p followedPlane) SetOutbound(addresses []netip.Addr) (datapath.OutboundChange, error) {
	v := p.view.Load()
	left := slices.DeleteFunc(slices.Clone(v.config.Pool.Addresses), func(a netip.Addr) bool {
		return slices.Contains(v.document.Config.Pool.Addresses, a) || slices.Contains(addresses, a)
	})
	var err error
	if len(left) > 0 {
		err = p.data.SetAddresses(slices.DeleteFunc(slices.Clone(v.config.Pool.Addresses), func(a netip.Addr) bool {
			return slices.Contains(left, a)
		}), v.static.addresses)
	}
	change, outboundErr := p.data.SetOutbound(addresses)
	if len(left) > 0 { // those by a mapping have ended
		ended, endErr := p.data.EndSessions(func(s datapath.Session) bool {
			return s.Origin == "pool" && slices.Contains(left, s.External.Addr())
		})
		change.Ended += ended
		err = errors.Join(err, endErr)
	}
	return change, errors.Join(err, outboundErr)
}

// TendSlots implements outbound.Plane.
func (p followedPlane) TendSlots() error { return p.data.TendSlots() }

// MostOutbound implements outbound.Plane.
func (p followedPlane) MostOutbound() int { return p.data.MostOutbound() }

// listenNames opens the sockets of a name server, none where its interface has no address.
func listenNames(at netip.AddrPort) (packets net.PacketConn, listener net.Listener, err error) {
	if at.Addr().IsUnspecified() {
		return nil, nil, nil
	}
	if packets, err = listenUDP(at.String()); err != nil {
		return nil, nil, fmt.Errorf("listen for DNS on %s (is the address on an interface, and the port free?): %w", at, err)
	}
	if listener, err = net.Listen("tcp4", at.String()); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("listen for DNS on %s (is the port free?): %w", at, err), packets.Close())
	}
	return packets, listener, nil
}

// runPublic serves names outside, at another address when the view in force has another.
func (g *Gateway) runPublic(ctx context.Context, packets net.PacketConn, listener net.Listener, at netip.AddrPort) error {
	for {
		serving, stop := context.WithCancel(ctx)
		done := make(chan error, 1)
		go func() {
			if packets == nil {
				<-serving.Done()
				done <- nil
				return
			}
			done <- g.public.Serve(serving, packets, listener)
		}()
		next := at
		for next == at {
			select {
			case err := <-done:
				stop()
				return err
			case <-g.moved:
				next = g.view.Load().config.DNS.Public
			}
		}
		stop()
		if err := <-done; err != nil || ctx.Err() != nil {
			return err
		}
		var err error
		packets, listener, err = listenNames(next)
		switch {
		case err != nil:
			g.log.Error("nobody outside can ask for names", "error", err)
		case packets == nil:
			g.log.Warn("nobody outside can ask for names until the interface of dns.public has an address", "was", at)
		default:
			g.log.Info("the name server has moved", "from", at, "to", next)
		}
		at = next
	}
}

// tellMoved has the name server look where it is to listen.
func (g *Gateway) tellMoved() {
	select {
	case g.moved <- struct{}{}:
	default:
	}
}
