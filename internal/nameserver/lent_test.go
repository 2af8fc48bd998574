package nameserver

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/names/zone"
)

// Others may answer TC=1 for names and types of which this server says no more over UDP.
func TestLentNames(t *testing.T) {
	data, err := zone.Parse(strings.NewReader("mail A 192.0.2.1\nwww.hosta HTTPS 1 .\n"), "foo.example.", "foo.zone")
	if err != nil {
		t.Fatal(err)
	}
	directory := realm().(testDirectory)
	directory["*.shop.foo.example."] = directory["www.hosta.foo.example."]
	server, _ := newPublic(t, func(o *PublicOptions) {
		o.Zones = []Zone{{Name: "foo.example.", Data: data}}
		o.Directory = func() Directory { return directory }
	})
	got := map[model.Name][]uint16{}
	for _, lent := range server.LentNames() {
		got[lent.Name] = lent.Types
	}
	for name, want := range map[model.Name][]uint16{
		"hosta.foo.example.": {dns.TypeA, dns.TypeAAAA, dns.TypeHTTPS}, "www.hosta.foo.example.": {dns.TypeA, dns.TypeAAAA},
		"mail.foo.example.": nil, "*.shop.foo.example.": nil,
	} {
		if !slices.Equal(got[name], want) {
			t.Errorf("%s: types %v, want %v", name, got[name], want)
		}
		for _, qtype := range want {
			if reply := unpacked(t, through(server, packed(t, request(string(name), qtype)), UDP)); !reply.Truncated || !reply.Authoritative {
				t.Errorf("%s: type %d is answered %v", name, qtype, reply)
			}
		}
	}
	none, _ := newPublic(t, func(o *PublicOptions) { o.Verify = VerifyNone })
	if names := none.LentNames(); len(names) > 0 {
		t.Errorf("where UDP lends: %v", names)
	}
}

// Whoever has asked for a host with names below it may go on to those: its next questions are to be seen.
func TestAskersOnTheirWayAreAwaited(t *testing.T) {
	var awaited []netip.Addr
	server, _ := newPublic(t, func(o *PublicOptions) {
		o.Await = func(asker netip.Addr, long time.Duration) {
			if long < detectorLate {
				t.Errorf("awaited for %s", long)
			}
			awaited = append(awaited, asker)
		}
	})
	for _, name := range []string{"hosta.foo.example.", "www.hosta.foo.example."} {
		for _, transport := range []Transport{UDP, TCP} {
			through(server, packed(t, request(name, dns.TypeA)), transport)
		}
	}
	if len(awaited) != 1 {
		t.Errorf("%v were awaited, want the asker of the host over TCP", awaited)
	}
}
