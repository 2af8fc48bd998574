package dataplane

import (
	"encoding/binary"
	"net/netip"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/siphash"
)

// cookieTicks is SYN_COOKIE_EPOCH_SHIFT of bpf/handshake/syn_cookie.h.
const cookieTicks = 8

// SYNCookie is the number by which the data plane answers the SYN of a client, whose first number begun is, in an epoch of 69 s. It
// says data of what the client offered (bpf/handshake/syn_cookie.h).
func SYNCookie(d *datapath.Datapath, client, to netip.AddrPort, begun, tick uint32, data byte) (uint32, error) {
	t, err := tablesOf(d)
	if err != nil {
		return 0, err
	}
	var key [16]byte
	binary.LittleEndian.PutUint64(key[:], t.layout.SynCookieKey[0])
	binary.LittleEndian.PutUint64(key[8:], t.layout.SynCookieKey[1])
	word := func(high, low uint64) []byte { return binary.LittleEndian.AppendUint64(nil, high<<32|low) }
	addresses := word(uint64(networkOrder(client.Addr())), uint64(networkOrder(to.Addr())))
	ports := word(uint64(swap(client.Port()))<<16|uint64(swap(to.Port())), uint64(tick>>cookieTicks))
	first := word(0, uint64(begun))
	hash := func(words ...[]byte) uint32 {
		var octets []byte
		for _, w := range words {
			octets = append(octets, w...)
		}
		return uint32(siphash.Sum(&key, append(octets, data)) & 0xfff)
	}
	return uint32(data)<<24 | hash(addresses, ports)<<12 | hash(addresses, ports, first), nil
}
