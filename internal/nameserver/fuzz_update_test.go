package nameserver

import (
	"strings"
	"testing"

	"github.com/miekg/dns"

	"github.com/realmgate/realmgate/internal/model"
)

// FuzzSigned gives messages to what comes after a good signature: whoever has a
// key may still send anything.
func FuzzSigned(f *testing.F) {
	for _, message := range seeds(f) {
		f.Add(message)
	}
	for _, change := range []func(*dns.Msg){
		insert(f, `_acme-challenge.foo.example. 60 IN TXT "x"`), insert(f, "www.foo.example. 60 IN A 192.0.2.1"),
		func(m *dns.Msg) { m.RemoveRRset(rrs(f, "_acme-challenge.foo.example. 0 IN TXT x")) },
		func(m *dns.Msg) { m.Used(rrs(f, "mail.foo.example. 0 IN A 198.51.100.25")) },
		func(m *dns.Msg) { m.NameNotUsed(rrs(f, "mail.foo.example. 0 IN A 198.51.100.25")) },
	} {
		m := new(dns.Msg).SetUpdate("foo.example.")
		change(m)
		f.Add(packed(f, m))
	}
	f.Fuzz(func(t *testing.T, message []byte) {
		m := new(dns.Msg)
		if m.Unpack(message) != nil || len(m.Question) != 1 {
			return
		}
		server := primary(t)
		for _, name := range []model.Name{"update.key.", "copy.key."} {
			sig := signature{key: testKey(t, name)}
			before := serialNow(t, server)
			server.update(m.Copy(), sig, nil)
			records := server.settings.Load().authority.zones["foo.example."].live.Load().records()
			if changed := serialNow(t, server) != before; changed && name != "update.key." {
				t.Fatalf("%s changed the zone by %v", name, m)
			}
			for _, rr := range records {
				if owner := rr.Header().Name; !strings.HasPrefix(owner, challengeLabel) || !dns.IsSubDomain("foo.example.", owner) || rr.Header().Rrtype != dns.TypeTXT {
					t.Fatalf("%v came into the zone by %v", rr, m)
				}
			}
			for _, transport := range []Transport{UDP, TCP} {
				_, later := server.transfer(server.settings.Load(), m.Copy(), sig, transport, nil)
				if later == nil {
					continue
				}
				if name != "copy.key." || dns.CanonicalName(m.Question[0].Name) != "foo.example." {
					t.Fatalf("%s was given a zone for %v", name, m)
				}
				if out := later(t.Context(), nil, func([]byte) bool { return true }); transport == UDP && len(out) > ownSize {
					t.Fatalf("%d octets over UDP", len(out))
				}
			}
		}
	})
}
