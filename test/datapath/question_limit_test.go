package datapath

import (
	"bytes"
	"net/netip"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/test/dataplane"
)

// neighbours are askers of one /24, another each time.
func neighbours(network byte) func(n int) netip.AddrPort {
	return func(n int) netip.AddrPort {
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte{203, 0, network, byte(n)}), uint16(1024+n))
	}
}

// strangersAll are of another /24 each time.
func strangersAll(n int) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{203, byte(n >> 8), byte(n), 1}), uint16(1024+n))
}

// passing is how many of so many questions reach the daemon; the others end for the reason.
func (g *gateway) passing(count int, from func(n int) netip.AddrPort, message func(asker netip.Addr) []byte, reason model.Reason) (passed int) {
	g.t.Helper()
	before := g.counters()
	g.in(func() error {
		for n := range count {
			asker := from(n)
			action, _, err := g.inject(true, g.public, addressed(datagram(asker, message(asker.Addr()))).Bytes())
			if err != nil {
				return err
			}
			if action == dataplane.Pass {
				passed++
			}
		}
		return nil
	})
	after := g.counters()
	if n := int(after[reason] - before[reason]); n != count-passed {
		g.t.Errorf("%d of %d passed, and %d ended as %s", passed, count, n, reason)
	}
	return passed
}

// within wants as many as the limit, and as many as may come while they are sent.
func within(t *testing.T, what string, passed, limit, rate int, began time.Time) {
	t.Helper()
	const coarse = 20 * time.Millisecond // the programs' clock is late by that at most
	most := limit + 2 + int((time.Since(began)+coarse).Seconds()*float64(rate))
	if passed < limit-1 || passed > most {
		t.Errorf("%s: %d reached the daemon, want %d to %d", what, passed, limit, most)
	}
}

// What the daemon has to see of unproved askers it sees 64 times a second of a network, and 512 times
// in all; what is beyond is told to come by TCP, and dropped where there is no question to tell about.
func TestUnprovedQuestionsAreLimited(t *testing.T) {
	t.Parallel()
	static := question(t, "foo.example.", dns.TypeMX, 1232)
	junk := bytes.Repeat([]byte{0xff}, 40)
	for name, test := range map[string]struct {
		message []byte
		reason  model.Reason
	}{
		"questions": {static, "answered_slowed"}, "junk": {junk, "drop_question_limit"},
		"a bad cookie": {question(t, "foo.example.", dns.TypeMX, 1232, cookieOption(append(bytes.Clone(clientCookie), make([]byte, 16)...)...)), "answered_slowed"},
	} {
		t.Run(name, func(t *testing.T) {
			g := asked(t)
			same := func(netip.Addr) []byte { return test.message }
			began := time.Now()
			within(t, "a network", g.passing(200, neighbours(113), same, test.reason), 64, 64, began)
			within(t, "another", g.passing(200, neighbours(114), same, test.reason), 64, 64, began)
			within(t, "all", g.passing(2000, strangersAll, same, test.reason), 512-2*64, 512, began)
			// A lent name has no limit, nor has who proves itself used any of its own.
			g.truncated(datagram(askedFrom, question(t, lentName, dns.TypeA, 0)), "answered_question")
			g.toDaemon(datagram(askedFrom, question(t, lentName, dns.TypeA, 1232, cookieOption(append(bytes.Clone(clientCookie), serverCookie(secrets[0], remote, time.Now())...)...))))
		})
	}
}

// What is told because of the limit is not said with authority: the name may be none of ours. The limit
// gives one back in 15.6 ms, so it is used up again until the question is the one beyond.
func TestSlowedAnswerIsOfNoAuthority(t *testing.T) {
	t.Parallel()
	g := asked(t)
	asked := question(t, "FOO.example.", dns.TypeMX, 1232)
	want := new(dns.Msg)
	check(t, want.Unpack(asked))
	want.Response, want.Truncated = true, true
	want.IsEdns0().SetUDPSize(1232)
	for range 50 {
		g.passing(200, neighbours(113), func(netip.Addr) []byte { return question(t, "foo.example.", dns.TypeMX, 0) }, "answered_slowed")
		r := g.put(datagram(askedFrom, asked))
		if r.reason == "to_gateway" {
			continue
		}
		if got := g.tellsByTCP(datagram(askedFrom, asked), r, "answered_slowed"); !bytes.Equal(got, must(want.Pack())(t)) {
			t.Errorf("%x, want %v", got, want)
		}
		return
	}
	t.Error("every question passed, want one beyond the limit")
}

// Who proves itself reaches the daemon, whatever it asks, 4,096 times a second of a network and 16,384
// times in all.
func TestProvedQuestionsAreLimited(t *testing.T) {
	t.Parallel()
	g := asked(t)
	now := time.Now()
	proved := func(asker netip.Addr) []byte {
		return question(t, lentName, dns.TypeA, 1232, cookieOption(append(bytes.Clone(clientCookie), serverCookie(secrets[0], asker, now)...)...))
	}
	began := time.Now()
	within(t, "a network", g.passing(3*4096, neighbours(113), proved, "answered_slowed"), 4096, 4096, began)
	within(t, "all", g.passing(3*16384, strangersAll, proved, "answered_slowed"), 16384-4096, 16384, began)
}

// A question in fragments counts by its first one, without which the kernel makes no datagram of the others.
func TestQuestionsInFragmentsAreLimited(t *testing.T) {
	t.Parallel()
	g := asked(t)
	whole := addressed(datagram(askedFrom, question(t, lentName, dns.TypeA, 1232, &dns.EDNS0_PADDING{Padding: make([]byte, 100)})))
	pieces := whole.Fragments(128)
	first, second := pieces[0], pieces[1]
	var passed int
	began := time.Now()
	for range 200 {
		switch r := g.put(first); {
		case r.action == dataplane.Pass && r.reason == "to_gateway":
			passed++
		default:
			g.dropped(r, "drop_question_limit")
		}
		g.passed(g.put(second), "to_gateway", second.Bytes())
	}
	within(t, "a network", passed, 64, 64, began)
}
