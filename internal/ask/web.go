package ask

import (
	"encoding/binary"
	"net/netip"

	"github.com/realmgate/realmgate/internal/ipv4"
	"github.com/realmgate/realmgate/internal/model"
)

// WebAgain has the daemon's half of web by name send again what a connection has begun with, by its tuple outside. False: it has
// no such connection.
type WebAgain func(flow model.Tuple) (bool, error)

// again sends a frame again that is not what its sender has sent: the SYN to a web host, which the data plane has made of the
// first data (bpf/handshake/side.h). Sent again it would be one to the web address.
func (o *Options) again(p *ipv4.Packet) (bool, error) {
	if o.Web == nil || p.Protocol() != ipv4.TCP || !p.Has(ipv4.SYN) {
		return false, nil
	}
	end := func(address, port []byte) netip.AddrPort {
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte(address)), binary.BigEndian.Uint16(port))
	}
	t := p.Transport()
	return o.Web(model.Tuple{Protocol: model.TCP, Source: end(p.IP[12:16], t[:2]), Destination: end(p.IP[16:20], t[2:4])})
}
