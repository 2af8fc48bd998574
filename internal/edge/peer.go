package edge

import (
	"encoding/binary"
	"fmt"
	"net/netip"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/edge/link"
	"github.com/realmgate/realmgate/internal/edge/settings"
	"github.com/realmgate/realmgate/internal/edge/wire"
	"github.com/realmgate/realmgate/internal/events/event"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/siphash"
)

// leastMTU is what every way between edges is taken to carry until more is known, octets of an inner packet.
const leastMTU = 1280

// epochs are how many keys have names.
const epochs = 128

// peer is what is known of another edge. The service's lock guards it.
type peer struct {
	settings settings.Peer
	number   uint32 // of its link in the data plane
	here     uint32 // VNI that it writes
	epoch    uint8  // the last that we have said
	mtu      int    // that passes, octets of an inner packet
	hello    wire.Hello
	up, was  bool // the link is there; it has been put into the data plane
	failures failures
	pace     pace
	secret   [16]byte
	since    model.Instant   // the link is up
	has      map[uint32]bool // own tags of our pacts that the peer says it has, while it lists them
}

// newPeer gives a peer a number that nobody has, nil where all are taken: until a reload has settled. The lock is held.
func (s *Service) newPeer(name model.Name) *peer {
	taken := map[uint32]bool{}
	for _, p := range s.peers {
		taken[p.number] = true
	}
	number := uint32(1)
	for taken[number] {
		number++
	}
	if number > uint32(s.Links) {
		return nil
	}
	p := &peer{number: number, mtu: leastMTU, epoch: uint8(random() % epochs)}
	p.here = uint32(random())&0xfff000 | number
	p.secret = s.secretOf(name)
	return p
}

// secretOf is the key of what a peer is told of hosts.
func (s *Service) secretOf(name model.Name) (key [16]byte) {
	binary.LittleEndian.PutUint64(key[:], siphash.Sum(&s.secret, []byte("hosts of "+name)))
	binary.LittleEndian.PutUint64(key[8:], siphash.Sum(&s.secret, []byte("more hosts of "+name)))
	return key
}

// hostID tells a peer whether a name stands for the same machine as last time, and nothing else.
func (p *peer) hostID(host [4]byte) wire.HostID { return wire.HostID(siphash.Sum(&p.secret, host[:])) }

// hello is what we say on a new connection. Keys are those of the connection: what comes by the epoch that it names can be read
// from now on, where the data plane has the link.
func (s far) hello(name model.Name, keys link.Keys) (wire.Hello, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.peerNamed(name)
	if p == nil {
		return wire.Hello{}, fmt.Errorf("%s is not configured, or edges.links are all in use", name)
	}
	epoch := (p.epoch + 1) % epochs // it takes the place of the one before the last: what goes by that, a handshake that fails does not stop
	if p.was {
		if err := s.putKey(p, keys, false, epoch); err != nil {
			return wire.Hello{}, err
		}
	}
	return wire.Hello{
		Name: s.Name, Process: s.process, Versions: [2]int{wire.VersionLeast, wire.VersionMost}, Zones: s.Zones,
		Locators: []wire.Locator{{Address: s.inForce.Listen.Addr(), Port: wire.GENEVEPort, Priority: 1, Weight: 1}}, Serial: 1, VNI: p.here, Epoch: epoch,
		MTU: s.mostMTU(p), Confidential: "no", Limits: wire.Limits{Pacts: s.Quotas.PerEdge, Opens: int(s.Quotas.Opens)},
	}, nil
}

func (s far) putKey(p *peer, keys link.Keys, out bool, epoch uint8) error {
	key, err := keys.Key(out, epoch)
	if err != nil {
		return err
	}
	return s.Plane().PutEdgeKey(p.number, out, epoch, key)
}

// mostMTU is what is configured for a peer, 0 for nothing.
func (s far) mostMTU(p *peer) int {
	if p.settings.MTU > 0 {
		return p.settings.MTU
	}
	return s.inForce.MTU
}

// mtuOf is the most that an inner packet to a peer may have.
func (s far) mtuOf(p *peer) int {
	most := s.mostMTU(p)
	if most == 0 {
		return p.mtu
	}
	return min(most, p.mtu)
}

// remote is where a peer's tunnel ends.
func (s far) remote(p *peer) netip.Addr {
	return p.hello.Where(p.settings.Address.Addr(), s.inForce.Listen.Addr()).Addr()
}

// putLink puts a link into the data plane as it is; the lock is held.
func (s far) putLink(p *peer) error {
	err := s.Plane().PutEdgeLink(datapath.EdgeLink{
		Number: p.number, Here: p.here, There: p.hello.VNI, Local: s.inForce.Listen.Addr(), Remote: s.remote(p), MTU: uint16(s.mtuOf(p)),
	})
	p.was = p.was || err == nil
	return err
}

// Up implements link.Handler.
func (s far) Up(name model.Name, hello wire.Hello, keys link.Keys) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.peerNamed(name)
	if p == nil || s.stopping {
		return link.ErrRemoved
	}
	p.hello = hello
	if err := s.putLink(p); err != nil {
		return err
	}
	if err := s.putKey(p, keys, false, keys.Said().Epoch); err != nil {
		return err
	}
	if err := s.putKey(p, keys, true, hello.Epoch); err != nil {
		return err
	}
	was := p.up
	p.epoch = keys.Said().Epoch
	p.up, p.since, p.has = true, s.Now(), nil
	p.failures = failures{}
	life(s).write(prefixLink+name.String(), keptLink{p.number, p.here, p.epoch})
	if !was {
		s.Events.Emit(event.EdgeUp{Edge: name.String(), Address: s.remote(p)})
	}
	s.sayPacts(name)
	return nil
}

// Down implements link.Handler: pacts stand until their leases end.
func (s far) Down(name model.Name, why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.peers[name]; p != nil {
		p.up = false
		s.Events.Emit(event.EdgeDown{Edge: name.String(), Error: event.Text(why)})
	}
}

// MTU implements link.Handler.
func (s far) MTU(name model.Name, inner int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.peerNamed(name)
	if p == nil || p.mtu == inner {
		return
	}
	if p.mtu = inner; p.was {
		if err := s.putLink(p); err != nil {
			s.Log.Error("path MTU of an edge not changed", "edge", name, "error", err)
		}
	}
}
