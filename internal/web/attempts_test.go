package web

import (
	"errors"
	"net/netip"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/ipv4"
	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
)

// fakeKernel notes what it is told.
type fakeKernel struct {
	full     bool // of answers
	answers  map[model.Tuple]datapath.WebAnswer
	replayed [][]byte
	sent     [][]byte
}

func (k *fakeKernel) AnswerWeb(flow model.Tuple, answer datapath.WebAnswer) error {
	if k.full {
		return errors.New("full")
	}
	k.answers[flow] = answer
	return nil
}

func (k *fakeKernel) ForgetWeb(flow model.Tuple) error {
	delete(k.answers, flow)
	return nil
}

func (k *fakeKernel) Replay(_ int, frame []byte, times int) error {
	for range times {
		k.replayed = append(k.replayed, frame)
	}
	return nil
}

func (k *fakeKernel) Send(_ int, frame []byte) error {
	k.sent = append(k.sent, frame)
	return nil
}

// quicRun is attempts with a kernel and a clock of their own.
type quicRun struct {
	*testing.T
	kernel *fakeKernel
	*attempts
	now model.Instant
}

var (
	site       = netip.MustParseAddrPort("198.18.0.80:443")
	siteTarget = Target{Host: "one.example.", To: netip.MustParseAddrPort("10.0.0.2:8443"), Number: 7}
)

func newQUICRun(t *testing.T, names ...string) *quicRun {
	t.Helper()
	k := &fakeKernel{answers: map[model.Tuple]datapath.WebAnswer{}}
	find := func(name string, flow model.Tuple) (Target, bool) {
		return siteTarget, slices.Contains(names, name) && flow.Protocol == model.UDP
	}
	return &quicRun{T: t, kernel: k, attempts: newAttempts(newTable(k, find, nil)), now: 1}
}

func client(network, number, port int) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{203, 0, byte(network), byte(number)}), uint16(port))
}

// captured is a datagram that a client of QUIC has sent.
func captured(t *testing.T, name string) string {
	t.Helper()
	octets, err := os.ReadFile("hello/testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(octets)
}

func frameOf(from netip.AddrPort, payload string) []byte {
	return packets.NewUDP(from, site, payload).Bytes()
}

func quicFlow(from netip.AddrPort) model.Tuple {
	return model.Tuple{Protocol: model.UDP, Source: from, Destination: site}
}

// comes has a datagram come.
func (r *quicRun) comes(from netip.AddrPort, payload string) {
	r.Helper()
	r.event(from, frameOf(from, payload), 0)
}

func (r *quicRun) event(from netip.AddrPort, frame []byte, each int) {
	r.Helper()
	if err := r.hear(&datapath.WebEvent{At: r.now, Kind: datapath.WebDatagram, Flow: quicFlow(from), Frame: frame, Each: each}); err != nil {
		r.Fatal(err)
	}
}

// waits has the time pass that is over.
func (r *quicRun) waits(d time.Duration) {
	r.Helper()
	r.now = r.now.Add(d)
	if err := r.expire(r.now); err != nil {
		r.Fatal(err)
	}
}

// says wants the data plane to know where the client goes, and to have seen so many frames again.
func (r *quicRun) says(from netip.AddrPort, want datapath.WebAnswer, replayed int) {
	r.Helper()
	got := r.kernel.answers[quicFlow(from)]
	want.Begun = got.Begun
	if got != want || len(r.kernel.replayed) != replayed {
		r.Fatalf("%+v and %d frames again, want %+v and %d", got, len(r.kernel.replayed), want, replayed)
	}
}

var toSite = datapath.WebAnswer{Host: siteTarget.To, Name: siteTarget.Number}

// A hello in one datagram and in two, which then are sent again in their order, and what comes before the session stands.
func TestAttempts(t *testing.T) {
	one, first, second := captured(t, "rfc9001-0.quic"), captured(t, "chromium-0.quic"), captured(t, "chromium-1.quic")
	r := newQUICRun(t, "example.com", "www.site.example")
	a, b := client(113, 1, 50000), client(113, 1, 50001)
	r.comes(a, one)
	r.says(a, toSite, 1)
	r.comes(b, first)
	r.says(b, datapath.WebAnswer{}, 1)
	r.comes(b, second)
	r.says(b, toSite, 3)
	r.comes(b, first)
	r.says(b, toSite, 4)
	for i, want := range []string{one, first, second, first} {
		p, err := packets.Parse(r.kernel.replayed[i])
		if err != nil || string(p.Payload) != want {
			t.Errorf("frame %d is another than what came: %v", i, err)
		}
	}
	r.waits(restTime - 1)
	r.says(b, toSite, 4)
	r.waits(1)
	r.says(b, datapath.WebAnswer{}, 4)
	if len(r.all) != 0 || len(r.network) != 0 || r.counts.Opened != 2 || r.counts.Read != 2 {
		t.Errorf("%d and %d are left, %+v", len(r.all), len(r.network), r.counts)
	}
}

// An aggregate is as good as its datagrams, each of which is sent again by itself.
func TestAttemptsInAggregates(t *testing.T) {
	first, second := captured(t, "chromium-0.quic"), captured(t, "chromium-1.quic")
	r := newQUICRun(t, "www.site.example")
	from := client(113, 1, 50000)
	r.event(from, frameOf(from, first+second), len(first))
	r.says(from, toSite, 2)
	for i, want := range []string{first, second} {
		if got := r.kernel.replayed[i]; !slices.Equal(got, frameOf(from, want)) {
			t.Errorf("frame %d:\n% x, want\n% x", i, got[:60], frameOf(from, want)[:60])
		}
	}
}

// Who asks for what is not there hears nothing, and comes by TCP.
func TestAttemptsRefused(t *testing.T) {
	one := captured(t, "rfc9001-0.quic")
	version, forged := []byte(one), []byte(one)
	version[4], forged[600] = 9, forged[600]^1
	for name, c := range map[string]struct {
		payload  string
		reason   model.Reason
		replayed int
	}{
		"a name that nobody has":  {one, reasonUnknown, 1},
		"an unknown version":      {string(version), reasonVersion, 1},
		"one that is not its own": {string(forged), "", 0},
		"what is no QUIC":         {string(make([]byte, 1200)), "", 0},
		"a hello that goes on":    {captured(t, "chromium-0.quic"), "", 0},
	} {
		r := newQUICRun(t)
		from := client(113, 1, 50000)
		r.comes(from, c.payload)
		r.says(from, datapath.WebAnswer{Reason: c.reason}, c.replayed)
		if c.reason != "" {
			r.comes(from, c.payload) // the data plane drops it, but it was on its way
			r.says(from, datapath.WebAnswer{Reason: c.reason}, 1)
		}
		r.waits(attemptTime)
		if len(r.all) != 0 || len(r.kernel.answers) != 0 || len(r.kernel.sent) != 0 || r.counts.Refused != 1 {
			t.Errorf("%s: %d left, %d answers, %d sent, %+v", name, len(r.all), len(r.kernel.answers), len(r.kernel.sent), r.counts)
		}
	}
}

// Nobody takes the places of others, and forged datagrams take none.
func TestAttemptsAreBounded(t *testing.T) {
	half, one := captured(t, "chromium-0.quic"), captured(t, "rfc9001-0.quic")
	r := newQUICRun(t, "example.com")
	for i := range 10 {
		r.comes(client(0, 1+i, 50000), half)
	}
	if len(r.all) != mostNetworkAttempts || r.counts.Full != 6 {
		t.Fatalf("%d of one network wait, %+v", len(r.all), r.counts)
	}
	forged := []byte(one)
	forged[600] ^= 1
	for i := range 2 * mostAttempts {
		r.comes(client(1, 1, i), string(forged))
	}
	if r.counts.Full != 6 {
		t.Fatalf("forged ones have taken places: %+v", r.counts)
	}
	for i := range 2 * mostAttempts {
		r.comes(netip.AddrPortFrom(netip.AddrFrom4([4]byte{100, byte(i >> 8), byte(i), 1}), 50000), half)
	}
	if len(r.all) != mostAttempts {
		t.Fatalf("%d wait", len(r.all))
	}
	late := client(200, 1, 50000)
	r.comes(late, one)
	r.says(late, datapath.WebAnswer{}, 0)
	r.waits(attemptTime)
	for i := range 2 * mostNetworkAttempts { // whose name was read waits no more
		late := client(200, 1, 50000+i)
		r.comes(late, one)
		r.says(late, toSite, 1+i)
	}
	if len(r.network) != 0 {
		t.Errorf("%v are counted", r.network)
	}
}

// Of many refusals the data plane hears of some, each second.
func TestAttemptsAreRefusedInBounds(t *testing.T) {
	one := captured(t, "rfc9001-0.quic")
	r := newQUICRun(t)
	for second := range 2 {
		for i := range 2 * mostTold {
			r.comes(client(second*100+i/4, 1, 50000+i), one)
		}
		if len(r.all) != mostTold || r.waiting() != 0 || len(r.kernel.answers) != mostTold {
			t.Fatalf("second %d: %d are known, %d wait, %d are told", second, len(r.all), r.waiting(), len(r.kernel.answers))
		}
		r.waits(restTime)
	}
	if r.counts.Refused != 4*mostTold || len(r.kernel.replayed) != 2*mostTold {
		t.Errorf("%+v, %d told", r.counts, len(r.kernel.replayed))
	}
}

// A frame is read whole or not at all.
func TestDatagramFrames(t *testing.T) {
	frame := frameOf(client(113, 1, 50000), "some data")
	for n := range frame {
		if list, err := parseDatagrams(frame[:n], 0); err == nil {
			t.Errorf("%d of %d octets are %q", n, len(frame), list[0].Payload)
		}
	}
	partial := slices.Clone(frame)
	left, err := ipv4.Parse(partial)
	if err != nil {
		t.Fatal(err)
	}
	left.Leave()
	list, err := parseDatagrams(partial, 0)
	if err != nil || !slices.Equal(list[0].Frame, frame) {
		t.Errorf("a checksum that is left to an interface is not filled in: %v", err)
	}
	wrong := slices.Clone(frame)
	wrong[len(wrong)-1] ^= 1
	if _, err := parseDatagrams(wrong, 0); err == nil {
		t.Error("a wrong checksum is taken for a right one")
	}
	none := slices.Clone(wrong)
	copy(none[ipv4.LinkHeader+ipv4.IPHeader+6:], []byte{0, 0})
	if _, err := parseDatagrams(none, 0); err != nil {
		t.Errorf("without a checksum: %v", err)
	}
	for each := 1; each <= len("some data"); each++ {
		list, err := parseDatagrams(slices.Clone(frame), each)
		whole := ""
		for _, d := range list {
			whole += string(d.Payload)
			if _, again := parseDatagrams(d.Frame, 0); again != nil || len(d.Payload) > each {
				t.Errorf("each %d: %v, %d octets", each, again, len(d.Payload))
			}
		}
		if err != nil || whole != "some data" {
			t.Errorf("each %d: %v, %q", each, err, whole)
		}
	}
}
