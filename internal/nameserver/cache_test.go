package nameserver

import (
	"context"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/realmgate/realmgate/internal/model"
)

// cached is a Private whose clock and upstream the test holds.
type cached struct {
	*Private
	now   model.Instant
	asked int
	reply func(m *dns.Msg)
}

func newCached(t *testing.T, size int) *cached {
	t.Helper()
	c := &cached{now: 1}
	c.Private = newPrivate(t, func(o *PrivateOptions) {
		o.CacheSize = size
		o.Now = func() model.Instant { return c.now }
		o.Upstream = []netip.AddrPort{netip.MustParseAddrPort("192.0.2.53:53")}
	})
	c.settings.Load().upstream.exchange = func(_ context.Context, _ netip.AddrPort, m *dns.Msg) (*dns.Msg, error) {
		c.asked++
		reply := new(dns.Msg).SetReply(m)
		c.reply(reply)
		return reply, nil
	}
	return c
}

func records(t *testing.T, lines ...string) []dns.RR {
	t.Helper()
	var list []dns.RR
	for _, line := range lines {
		record, err := dns.NewRR(line)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, record)
	}
	return list
}

func TestCacheLifetime(t *testing.T) {
	const soa = "example.net. 900 IN SOA ns.example.net. a.example.net. 1 2 3 4 "
	for _, test := range []struct {
		about             string
		rcode             int
		answer, authority []string
		lives             time.Duration
	}{
		{"one record", 0, []string{wwwNet}, nil, 300 * time.Second},
		{"least of the records", 0, []string{"www.example.net. 60 IN CNAME a.example.net.", "a.example.net. 20 IN A 192.0.2.1"}, nil, 20 * time.Second},
		{"TTL 0", 0, []string{"www.example.net. 0 IN A 192.0.2.1"}, nil, 0},
		{"a very long TTL", 0, []string{"www.example.net. 2000000 IN A 192.0.2.1"}, nil, 24 * time.Hour},
		{"highest bit set", 0, []string{"www.example.net. 2147483648 IN A 192.0.2.1"}, nil, 0},
		{"NXDOMAIN by the SOA's minimum", dns.RcodeNameError, nil, []string{soa + "30"}, 30 * time.Second},
		{"NXDOMAIN by the SOA's TTL", dns.RcodeNameError, nil, []string{soa + "9000"}, 900 * time.Second},
		{"NODATA", 0, nil, []string{soa + "40"}, 40 * time.Second},
		{"NODATA behind a CNAME", 0, []string{"www.example.net. 600 IN CNAME a.example.net."}, []string{soa + "40"}, 40 * time.Second},
		{"NODATA behind a CNAME, of less TTL", 0, []string{"www.example.net. 20 IN CNAME a.example.net."}, []string{soa + "40"}, 20 * time.Second},
		{"NODATA behind a CNAME, without SOA", 0, []string{"www.example.net. 600 IN CNAME a.example.net."}, nil, 0},
		{"NXDOMAIN at most 3 hours", dns.RcodeNameError, nil, []string{strings.Replace(soa, "900", "86400", 1) + "86400"}, 3 * time.Hour},
		{"NXDOMAIN without SOA", dns.RcodeNameError, nil, nil, 0},
		{"NODATA without SOA", 0, nil, nil, 0},
		{"SERVFAIL", dns.RcodeServerFailure, nil, nil, 0},
	} {
		t.Run(test.about, func(t *testing.T) {
			c := newCached(t, 10)
			c.reply = func(m *dns.Msg) {
				m.Rcode, m.Answer, m.Ns = test.rcode, records(t, test.answer...), records(t, test.authority...)
			}
			query := packed(t, request("www.example.net.", dns.TypeA))
			fresh := unpacked(t, through(c, query, UDP))
			c.asked = 0
			if test.lives > 0 {
				c.now = c.now.Add(test.lives - 1)
				kept := unpacked(t, through(c, query, UDP))
				if c.asked != 0 || kept.Rcode != fresh.Rcode || len(kept.Answer) != len(fresh.Answer) || len(kept.Ns) != len(fresh.Ns) {
					t.Errorf("just before the end: asked %d times, got %v", c.asked, kept)
				}
				c.now = c.now.Add(1)
			}
			through(c, query, UDP)
			if c.asked == 0 {
				t.Error("still cached at the end of its life")
			}
		})
	}
}

func TestCachedTTLsCountDown(t *testing.T) {
	c := newCached(t, 10)
	c.reply = func(m *dns.Msg) {
		m.Answer = records(t, "www.example.net. 60 IN CNAME a.example.net.", "a.example.net. 20 IN A 192.0.2.1")
	}
	query := packed(t, request("www.example.net.", dns.TypeA))
	for _, step := range []struct {
		after time.Duration
		want  []string
	}{
		{0, []string{"www.example.net. 60 IN CNAME a.example.net.", "a.example.net. 20 IN A 192.0.2.1"}},
		{7500 * time.Millisecond, []string{"www.example.net. 53 IN CNAME a.example.net.", "a.example.net. 13 IN A 192.0.2.1"}},
		{12 * time.Second, []string{"www.example.net. 41 IN CNAME a.example.net.", "a.example.net. 1 IN A 192.0.2.1"}},
		{500 * time.Millisecond, []string{"www.example.net. 60 IN CNAME a.example.net.", "a.example.net. 20 IN A 192.0.2.1"}},
	} {
		c.now = c.now.Add(step.after)
		if got := texts(unpacked(t, through(c, query, UDP)).Answer); !slices.Equal(got, step.want) {
			t.Errorf("%v later: %v", step.after, got)
		}
	}
	if c.asked != 2 {
		t.Errorf("asked upstream %d times", c.asked)
	}
}

func TestCacheKeepsQuestionsApart(t *testing.T) {
	c := newCached(t, 10)
	c.reply = func(m *dns.Msg) { m.Answer = records(t, wwwNet) }
	checking := request("www.example.net.", dns.TypeA)
	checking.CheckingDisabled = true
	for i, m := range []*dns.Msg{
		request("www.example.net.", dns.TypeA), request("www.example.net.", dns.TypeAAAA), request("www2.example.net.", dns.TypeA),
		request("www.example.net.", dns.TypeA).SetEdns0(1232, true), checking,
	} {
		through(c, packed(t, m), UDP)
		if c.asked != i+1 {
			t.Errorf("question %d: asked upstream %d times", i, c.asked)
		}
	}
	through(c, packed(t, request("WWW.Example.net.", dns.TypeA)), UDP)
	if c.asked != 5 {
		t.Error("capitals make another question")
	}
}

func TestCacheIsBounded(t *testing.T) {
	for _, size := range []int{0, 2} {
		c := newCached(t, size)
		c.reply = func(m *dns.Msg) { m.Answer = records(t, wwwNet) }
		for range 2 {
			for _, name := range []string{"a.net.", "b.net.", "c.net."} {
				through(c, packed(t, request(name, dns.TypeA)), UDP)
			}
		}
		if c.asked != 6 {
			t.Errorf("%d places for 3 names: asked upstream %d times", size, c.asked)
		}
	}
}

func TestFailureIsRememberedForASecond(t *testing.T) {
	c := newCached(t, 10)
	calls := 0
	c.settings.Load().upstream.exchange = func(context.Context, netip.AddrPort, *dns.Msg) (*dns.Msg, error) {
		calls++
		return nil, context.DeadlineExceeded
	}
	query := packed(t, request("www.example.net.", dns.TypeA))
	through(c, query, UDP)
	through(c, query, UDP)
	if calls != upstreamTries {
		t.Errorf("asked upstream %d times", calls)
	}
	c.now = c.now.Add(failureTTL)
	through(c, query, UDP)
	if calls != 2*upstreamTries {
		t.Errorf("a second later: asked upstream %d times", calls)
	}
}

func TestNewUpstreamEmptiesTheCache(t *testing.T) {
	c := newCached(t, 10)
	c.reply = func(m *dns.Msg) { m.Answer = records(t, wwwNet) }
	through(c, packed(t, request("www.example.net.", dns.TypeA)), UDP)
	options := PrivateOptions{
		Zones: testZones, Nameserver: "ns.example.net.", Directory: realm, Upstream: c.settings.Load().servers(),
	}
	if err := c.Reconfigure(options); err != nil || c.settings.Load().cache.entries.Len() != 1 {
		t.Errorf("same upstream: %v, %d answers kept", err, c.settings.Load().cache.entries.Len())
	}
	options.Upstream = nil
	if err := c.Reconfigure(options); err != nil || c.settings.Load().cache.entries.Len() != 0 {
		t.Errorf("without upstream: %v, %d answers kept", err, c.settings.Load().cache.entries.Len())
	}
}

func TestAuthenticatedOnlyForThoseWhoAsk(t *testing.T) {
	c := newCached(t, 10)
	c.reply = func(m *dns.Msg) { m.Answer, m.AuthenticatedData = records(t, wwwNet), true }
	plain, ad, do := request("a.net.", 1), request("a.net.", 1), request("a.net.", 1).SetEdns0(1232, true)
	ad.AuthenticatedData = true
	for i, want := range []bool{false, true, true} {
		if got := unpacked(t, through(c, packed(t, []*dns.Msg{plain, ad, do}[i]), UDP)); got.AuthenticatedData != want {
			t.Errorf("message %d: AD %v", i, got.AuthenticatedData)
		}
	}
}
