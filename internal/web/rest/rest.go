package rest

import (
	"net/netip"
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

// At lists those of some addresses that rest.
func (p Ports) At(addresses func(netip.Addr) bool, now time.Time) (list []datapath.Service) {
	for at, until := range p {
		if now.Before(until) && addresses(at.Host) {
			list = append(list, at)
		}
	}
	return list
}
