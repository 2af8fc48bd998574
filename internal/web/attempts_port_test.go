package web

import (
	"encoding/binary"
	"net/netip"
	"testing"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/model"
)

// A port that its client uses for one connection after the other: each goes where it asks to, what came for the one before
// behind it goes nowhere.
func TestAttemptsByTheSamePort(t *testing.T) {
	one, first, second := captured(t, "rfc9001-0.quic"), captured(t, "chromium-0.quic"), captured(t, "chromium-1.quic")
	for _, known := range []string{"example.com", ""} {
		r := newQUICRun(t, known, "www.site.example")
		from := client(113, 1, 50000)
		r.comes(from, one)
		before := r.kernel.answers[quicFlow(from)].Begun
		r.comes(from, first)
		r.comes(from, one)
		if answer := r.kernel.answers[quicFlow(from)]; answer.Begun != before || len(r.kernel.replayed) != 1 {
			t.Errorf("%+v was said of another connection, %d frames again", answer, len(r.kernel.replayed))
		}
		r.comes(from, second)
		r.says(from, toSite, 3)
		if r.kernel.answers[quicFlow(from)].Begun == before {
			t.Error("the answer is one to both")
		}
		r.waits(restTime)
		if len(r.all) != 0 || len(r.network) != 0 || len(r.kernel.answers) != 0 {
			t.Errorf("%d and %d are left, %d answers", len(r.all), len(r.network), len(r.kernel.answers))
		}
	}
}

// No answer outlives its attempt, whatever becomes of the next one by the same port.
func TestAttemptsLeaveNoAnswers(t *testing.T) {
	one, half := captured(t, "rfc9001-0.quic"), captured(t, "chromium-0.quic")
	forged := []byte(half)
	forged[600] ^= 1
	for name, next := range map[string]string{"a hello that goes on": half, "one that is not its own": string(forged)} {
		r := newQUICRun(t, "example.com")
		from := client(113, 1, 50000)
		r.comes(from, one)
		r.says(from, toSite, 1)
		r.comes(from, next)
		r.waits(max(attemptTime, restTime))
		if len(r.all) != 0 || len(r.network) != 0 || len(r.kernel.answers) != 0 {
			t.Errorf("%s: %d and %d are left, %d answers", name, len(r.all), len(r.network), len(r.kernel.answers))
		}
	}
}

// What the data plane would hold again, as it has no answer, is not sent again.
func TestAttemptsWithoutAnswer(t *testing.T) {
	one := captured(t, "rfc9001-0.quic")
	r := newQUICRun(t, "example.com")
	r.kernel.full = true
	from := client(113, 1, 50000)
	e := datapath.WebEvent{At: r.now, Kind: datapath.WebDatagram, Flow: quicFlow(from), Frame: frameOf(from, one)}
	if r.hear(&e) == nil {
		t.Error("nobody hears that it failed")
	}
	r.comes(from, one)
	r.says(from, datapath.WebAnswer{}, 0)
	r.waits(restTime)
	if len(r.all) != 0 || len(r.network) != 0 {
		t.Errorf("%d and %d are left", len(r.all), len(r.network))
	}
}

// One client with one session takes no more of the daemon's time than others: connections by its port are bounded, too.
func TestAttemptsByTheSamePortAreBounded(t *testing.T) {
	unread := []byte(captured(t, "rfc9001-0.quic"))
	r := newQUICRun(t)
	anew := func(from netip.AddrPort, n int) {
		binary.NativeEndian.PutUint32(unread[6:], uint32(n))
		e := datapath.WebEvent{At: r.now, Kind: datapath.WebAnew, Flow: quicFlow(from), Frame: frameOf(from, string(unread))}
		if err := r.hear(&e); err != nil {
			t.Fatal(err)
		}
	}
	for second := range 2 {
		for i := range 100 {
			anew(client(113, 1, 50000), i)
		}
		if got := len(r.kernel.replayed); got != (second+1)*mostTurns {
			t.Fatalf("second %d: %d are sent again", second, got)
		}
		r.waits(restTime)
	}
	r.kernel.replayed = nil
	for port := range 2 * mostAttempts {
		for i := range mostTurns {
			anew(client(113, 1, port), i)
		}
	}
	if got := len(r.kernel.replayed); got != mostAttempts {
		t.Errorf("%d are sent again", got)
	}
	r.waits(restTime)
	r.kernel.replayed = nil
	one, forged := captured(t, "rfc9001-0.quic"), []byte(captured(t, "chromium-0.quic"))
	forged[600] ^= 1
	r.find = func(string, model.Tuple) (Target, bool) { return siteTarget, true }
	for range mostTurns {
		r.comes(client(113, 1, 50000), one)
		r.comes(client(113, 1, 50000), string(forged))
	}
	if got := len(r.kernel.replayed); got != mostTurns/2 {
		t.Errorf("%d are sent again", got)
	}
	r.waits(restTime)
	if len(r.all) != 0 || r.turns != 0 || len(r.kernel.answers) != 0 {
		t.Errorf("%d are left, %d turns, %d answers", len(r.all), r.turns, len(r.kernel.answers))
	}
}

// What cannot be read by the ports of a session goes on with it: its host has told the client another ID.
func TestAttemptsGoOn(t *testing.T) {
	r := newQUICRun(t)
	from := client(113, 1, 50000)
	unread := []byte(captured(t, "rfc9001-0.quic"))
	unread[600] ^= 1
	for again := range 2 {
		e := datapath.WebEvent{At: r.now, Kind: datapath.WebAnew, Flow: quicFlow(from), Frame: frameOf(from, string(unread))}
		if err := r.hear(&e); err != nil {
			t.Fatal(err)
		}
		r.says(from, datapath.WebAnswer{}, 1+again)
	}
	if answer, is := r.kernel.answers[quicFlow(from)]; !is || answer.Begun != begunOf(unread) || *r.counts != (Counts{Replayed: 2}) {
		t.Errorf("%+v, %+v", answer, r.counts)
	}
	r.waits(restTime)
	if len(r.all) != 0 || len(r.network) != 0 || len(r.kernel.answers) != 0 {
		t.Errorf("%d and %d are left, %d answers", len(r.all), len(r.network), len(r.kernel.answers))
	}
}
