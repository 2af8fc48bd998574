package browser

import (
	"encoding/binary"
	"slices"
	"sync/atomic"

	"github.com/miekg/dns"

	"github.com/realmgate/realmgate/internal/lab/packets"
)

// addressAnswers counts the answers with the sites' address that the resolver gets of the gateway. Browsers ask for other types,
// too: that there is nothing of those is remembered for a minute (RFC 2308 section 5), whatever the TTL of addresses is. And the
// resolver asks where the name server is.
func (f *farm) addressAnswers() *atomic.Int64 {
	f.t.Helper()
	frames, err := f.Resolver.Frames("eth0")
	f.must(err)
	f.t.Cleanup(func() { _ = frames.Close() })
	count := &atomic.Int64{}
	go func() { // until frames is closed
		buffer := make([]byte, 1<<16)
		for {
			n, err := frames.Read(buffer)
			if err != nil {
				return
			}
			if p, err := packets.Parse(buffer[:n]); err == nil && p.IPv4 != nil && p.IPv4.Source == f.Gateway.PublicAddress {
				count.Add(int64(addressesIn(p)))
			}
		}
	}()
	return count
}

// addressesIn is how many answers with the sites' address are in a packet. Where many questions come at once the gateway has them
// asked by TCP, in which a length is before each (RFC 1035 section 4.2.2).
func addressesIn(p packets.Packet) (n int) {
	for rest := p.Payload; len(rest) > 0; {
		message := rest
		rest = nil
		if p.TCP != nil && len(message) > 2 {
			end := min(2+int(binary.BigEndian.Uint16(message)), len(message))
			message, rest = message[2:end], message[end:]
		}
		var m dns.Msg
		if m.Unpack(message) == nil && slices.ContainsFunc(m.Answer, leadsToSites) {
			n++
		}
	}
	return n
}

func leadsToSites(rr dns.RR) bool {
	a, ok := rr.(*dns.A)
	return ok && a.A.String() == sitesAddress.String()
}
