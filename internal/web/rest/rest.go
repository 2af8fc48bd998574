package rest

import (
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/model"
)

// most bounds the ports that rest. Beyond it none rests: 256 can leave at a time.
const most = 4096

// Ports are those that rest, each until when.
type Ports map[datapath.Service]time.Time

// Next are those that rest from now on, when the web had some ports and has others: what left it rests for ttl, as names were
// answered with that.
func (p Ports) Next(had, has []datapath.Service, ttl time.Duration, now time.Time) Ports {
	next := Ports{}
	for port, until := range p {
		if now.Before(until) {
			next[port] = until
		}
	}
	for _, port := range had {
		if len(next) < most {
			next[port] = now.Add(ttl)
		}
	}
	for _, port := range has {
		delete(next, port)
	}
	return next
}

// Left is for how long yet a port of an address rests, 0 if it does not. Port 0 of all protocols is any of it.
func (p Ports) Left(a netip.Addr, protocol model.Protocol, port uint16, now time.Time) (left time.Duration) {
	if protocol != model.AnyProtocol {
		return max(0, p[datapath.Service{Host: a, Protocol: protocol, Port: port}].Sub(now))
	}
	for at, until := range p {
		if at.Host == a {
			left = max(left, until.Sub(now))
		}
	}
	return left
}

// Has reports whether a port, as Left has it, rests now.
func (p Ports) Has(a netip.Addr, protocol model.Protocol, port uint16) bool {
	return len(p) > 0 && p.Left(a, protocol, port, time.Now()) > 0
}

// Now lists those of some addresses that rest now.
func (p Ports) Now(addresses []netip.Addr) []datapath.Service {
	return p.At(func(a netip.Addr) bool { return slices.Contains(addresses, a) }, time.Now())
}

// Refuse says which of what others are to have rests: addresses, of which they get every port, and single ports.
func (p Ports) Refuse(whole []netip.Addr, ports []datapath.Service, now time.Time) error {
	for _, a := range whole {
		if left := p.Left(a, model.AnyProtocol, 0, now); left > 0 {
			return stillOfTheWeb(a, left)
		}
	}
	for _, at := range ports {
		if left := p.Left(at.Host, at.Protocol, at.Port, now); left > 0 {
			return stillOfTheWeb(at.Host, left)
		}
	}
	return nil
}

func stillOfTheWeb(a netip.Addr, left time.Duration) error {
	return fmt.Errorf("%s was of the web until now, and clients may still come to what it was: it can be used in %s", a, left.Round(time.Second))
}

// At lists those of some addresses that rest.
func (p Ports) At(addresses func(netip.Addr) bool, now time.Time) (list []datapath.Service) {
	for at, until := range p {
		if now.Before(until) && addresses(at.Host) {
			list = append(list, at)
		}
	}
	return list
}
