package ask

import (
	"encoding/binary"
	"net/netip"

	"github.com/realmgate/realmgate/internal/model"
)

// WebAgain has the daemon's half of web by name send again what a connection has begun with, by its tuple outside. False: it has
// no such connection.
type WebAgain func(flow model.Tuple) (bool, error)

// again sends a frame again that is not what its sender has sent: the SYN to a web host, which the data plane has made of the
// first data (bpf/handshake/side.h). Sent again it would be one to the web address.
func (o *Options) again(_ int, p *packet) (bool, error) {
	const flagSYN = 0x02
	if o.Web == nil || !p.tcp || p.transport()[13]&flagSYN == 0 {
		return false, nil
	}
	end := func(address, port []byte) netip.AddrPort {
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte(address)), binary.BigEndian.Uint16(port))
	}
	t := p.transport()
	return o.Web(model.Tuple{Protocol: model.TCP, Source: end(p.ip[12:16], t[:2]), Destination: end(p.ip[16:20], t[2:4])})
}
