package daemon

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/names/dynamic"
	"github.com/realmgate/realmgate/internal/nameserver"
)

// Who is with a host by a web name is with nobody when that has gone, though another has its address at once and opens the same.
// What a daemon had led to a host before it was killed leads nowhere when the next one begins.
func TestWebNameOfHostThatRegistersItself(t *testing.T) {
	t.Parallel()
	r := newRig(t, strings.Replace(text, "dns: {public: 198.18.0.1, private: 10.0.0.1}", `dns: {public: 198.18.0.1, private: 10.0.0.1, keys: [{name: d2.home.example., secret: c2VjcmV0IG9mIHRoZSB0ZXN0cywgMzIgb2N0ZXRzLi4=}]}`, 1)+`
web: {addresses: [198.18.0.80], quic: true}
dynamic: [{zone: foo.example., update: {key: d2.home.example.}, prefixes: [10.0.1.0/24], services: [{ports: ["udp/443:8443"]}]}]
`)
	r.routed()
	const laptop, tv = model.Name("laptop.foo.example."), model.Name("tv.foo.example.")
	at := netip.MustParseAddrPort("10.0.1.5:8443")
	updates := func(changed map[model.Name]nameserver.Registration) {
		t.Helper()
		r.must(r.namespace.Do(func() error {
			return dynamic.Updates{Service: r.dynamic}.Register("foo.example.", "d2.home.example.", changed, 1)
		}))
	}
	from, to := netip.AddrPortFrom(remote.Addr(), 4000), netip.AddrPortFrom(webAddress, 443)
	led := func() {
		t.Helper()
		r.must(r.data.AnswerWeb(model.Tuple{Protocol: model.UDP, Source: from, Destination: to}, datapath.WebAnswer{Host: at, Name: r.view.Load().realm.Number(laptop)}))
	}
	updates(map[model.Name]nameserver.Registration{laptop: {Address: at.Addr()}})
	led()
	if end := r.send(true, packets.NewUDP(from, to, "hello")); end.IsDrop() || r.sessionsOf("web") != 1 {
		t.Fatalf("it ends with %s", end)
	}
	r.restart(true, "")
	if n := r.sessionsOf("web"); n != 1 {
		t.Errorf("%d sessions are left by a restart", n)
	}
	updates(map[model.Name]nameserver.Registration{laptop: {}, tv: {Address: at.Addr()}})
	if n := r.sessionsOf("web"); n != 0 {
		t.Errorf("%d sessions are with who has the address next", n)
	}
	led()
	r.restart(true, "")
	if r.send(true, packets.NewUDP(from, to, "hello")); r.sessionsOf("web") != 0 {
		t.Error("what an earlier daemon had led leads to who has the address next")
	}
}
