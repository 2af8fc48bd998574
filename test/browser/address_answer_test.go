package browser

import (
	"net/netip"
	"sync/atomic"

	"github.com/miekg/dns"

	"github.com/realmgate/realmgate/internal/lab/packets"
)

// addressAnswers counts the answers with addresses that the resolver gets of the gateway. Browsers ask for other types, too:
// that there is nothing of those is remembered for a minute (RFC 2308 section 5), whatever the TTL of addresses is.
func (f *farm) addressAnswers() *atomic.Int64 {
	f.t.Helper()
	frames, err := f.Resolver.Frames("eth0")
	f.must(err)
	f.t.Cleanup(func() { _ = frames.Close() })
	count := &atomic.Int64{}
	go func() { // until frames is closed
		buffer := make([]byte, 2048)
		for {
			n, err := frames.Read(buffer)
			if err != nil {
				return
			}
			if p, err := packets.Parse(buffer[:n]); err == nil && answersAddress(p, f.Gateway.PublicAddress) {
				count.Add(1)
			}
		}
	}()
	return count
}

// answersAddress reports whether a packet is an answer of a server's with an A record.
func answersAddress(p packets.Packet, server netip.Addr) bool {
	var m dns.Msg
	if p.UDP == nil || p.IPv4 == nil || p.IPv4.Source != server || m.Unpack(p.Payload) != nil {
		return false
	}
	for _, rr := range m.Answer {
		if _, is := rr.(*dns.A); is {
			return true
		}
	}
	return false
}
