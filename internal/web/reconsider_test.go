package web

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/model"
)

func nowhere(Target, model.Tuple) bool { return false }

// A reload leads a name to another host while its former one is asked, or has just answered: what the client sends again is led
// to the new one, and nothing is left of the connection with the other.
func TestNameLeadsElsewhere(t *testing.T) {
	t.Parallel()
	other := netip.MustParseAddrPort("10.0.0.101:8080")
	half := len(request) / 2
	for name, opened := range map[string]bool{"while its host is asked": false, "when it has answered": true} {
		b := newBed(t)
		leads := func(to Target, flow model.Tuple) bool { return to.To == www && flow == flowOf(visitor) }
		b.hears(first(request[:half]))
		connects := fmt.Sprintf("replay %q x2", request[:half])
		b.hears(later(uint32(half), request[half:]), "answer 10.0.0.100:8080", connects)
		if opened {
			b.hears(about(datapath.WebOpened, ""), fmt.Sprintf("replay %q x1", request[:half]), fmt.Sprintf("replay %q x1", request[half:]))
		}
		if err := b.reconsider(leads, b.now); err != nil {
			t.Fatal(err)
		}
		b.done() // it leads where it did
		b.find = func(string, model.Tuple) (Target, bool) { return Target{Host: "other.example.", To: other}, true }
		if err := b.reconsider(nowhere, b.now); err != nil {
			t.Fatal(err)
		}
		b.done("forget")
		if len(b.all)+len(b.source)+len(b.network)+len(b.host)+b.octets+len(b.kernel.answers) != 0 {
			t.Errorf("%s: left are %+v", name, b.table)
		}
		if opened { // all that it had was sent on: its client sends it again
			b.hears(first(request[:half]))
			b.hears(later(uint32(half), request[half:]), "answer 10.0.0.101:8080", connects)
			continue
		}
		b.hears(first(request[:half]), "answer 10.0.0.101:8080", connects)
	}
	b := newBed(t)
	b.hears(first(strange), "answer  drop_name_unknown", fmt.Sprintf("replay %q x1", strange), "send FIN|PSH|ACK 5001 1040 HTTP/1.1 421 Misdirected Request")
	if err := b.reconsider(nowhere, b.now); err != nil {
		t.Fatal(err)
	}
	b.done() // what has come to nothing leads nowhere
	b.waits(time.Second, "forget")
}

func TestAttemptLeadsElsewhere(t *testing.T) {
	t.Parallel()
	r := newQUICRun(t, "example.com")
	from := client(1, 1, 4000)
	r.comes(from, captured(t, "rfc9001-0.quic"))
	if r.kernel.answers[quicFlow(from)].Host != siteTarget.To {
		t.Fatalf("answers %v", r.kernel.answers)
	}
	for _, leads := range []bool{true, false} {
		if err := r.reconsider(func(to Target, _ model.Tuple) bool { return leads && to == siteTarget }); err != nil {
			t.Fatal(err)
		}
		if _, answered := r.kernel.answers[quicFlow(from)]; answered != leads || (len(r.all) == 1) != leads {
			t.Errorf("leads %v: answers %v", leads, r.kernel.answers)
		}
	}
}

// Of an attempt before another one by its port the data plane has an answer that nobody knows.
func TestAttemptBeforeAnotherLeadsElsewhere(t *testing.T) {
	t.Parallel()
	r := newQUICRun(t, "example.com")
	from := client(1, 1, 4000)
	r.comes(from, captured(t, "rfc9001-0.quic"))
	r.comes(from, captured(t, "chromium-0.quic"))
	if a := r.all[quicFlow(from)]; a.turn != 1 || a.phase != phaseReading || len(r.kernel.answers) != 1 {
		t.Fatalf("%+v, answers %v", a, r.kernel.answers)
	}
	if err := r.reconsider(nowhere); err != nil || len(r.kernel.answers) != 0 || len(r.all) != 1 {
		t.Errorf("%v, answers %v, %d are known", err, r.kernel.answers, len(r.all))
	}
}
