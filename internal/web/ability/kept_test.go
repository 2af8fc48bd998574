package ability

import (
	"errors"
	"maps"
	"testing"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/events/event"
	"github.com/realmgate/realmgate/internal/model"
)

// After a restart hosts are where they were at once, though nobody has asked them yet, and are not believed to be able to do
// more than they did for clients.
func TestHostsOutliveARestart(t *testing.T) {
	t.Parallel()
	b := newBed(t, 2, []string{"www.h0.example", "*.h1.example"}, []string{"www.h1.example"})
	if b.At("h0.example.").Sure || b.At("h1.example.").Sure {
		t.Error("hosts are at their places for good before anybody has asked them")
	}
	b.asks()
	b.told()
	was := map[string]Place{"h0.example.": b.At("h0.example."), "h1.example.": b.At("h1.example.")}
	if was["h0.example."].At == was["h1.example."].At || !was["h0.example."].Sure || !was["h1.example."].Sure {
		t.Errorf("places: %v", was)
	}
	weak := datapath.WebPromise{MSS: 1400, SACK: true}
	at := was["h0.example."].At
	b.weakens("h0.example.", endpointOf(0).To, at, weak)
	b.told(event.HostWeak{Host: "h0.example.", Address: at, MSS: 1400, SACK: true, Ended: true})
	b.keep()

	b.begins()
	for name, place := range was {
		if got := b.At(model.Name(name)); got != place {
			t.Errorf("%s is at %v before the first configuration, was %v", name, got, place)
		}
	}
	b.follows(2, 2)
	for name, place := range was {
		if got := b.At(model.Name(name)); got != place {
			t.Errorf("%s is at %v, was %v", name, got, place)
		}
	}
	if covers := b.known.covers(); len(covers) != 1 {
		t.Errorf("certificates are forgotten: %+v", covers)
	}
	b.asks()
	if p := b.promises[at]; p != weak {
		t.Errorf("promised is %+v after a restart, want %+v", p, weak)
	}
	written := maps.Clone(b.disk)
	b.keep()
	if !maps.EqualFunc(b.disk, written, func(a, b []byte) bool { return string(a) == string(b) }) {
		t.Errorf("the same is kept otherwise: %s", b.disk)
	}

	b.follows(1, 1)
	b.fault = errors.New("no room")
	b.keep()
	if b.fault = nil; len(b.disk) != 2 {
		t.Errorf("kept are %s", b.disk)
	}
	b.keep()
	if len(b.disk) != 1 {
		t.Errorf("hosts that have gone are kept: %s", b.disk)
	}
	b.disk["h0.example."] = []byte("{")
	if err := b.Read(); err == nil {
		t.Error("what cannot be read is not told")
	}
}

// A host stays for good when all have shown their certificates, which may cover its names.
func TestSureWhenAllAreAsked(t *testing.T) {
	t.Parallel()
	k := follows(hostsOf(2), 2)
	k.answers(1, all, "www.h1.example.")
	k.judge(begin)
	if k.isSure("h1.example.", k.areAsked()) {
		t.Error("it is sure before another host was asked")
	}
	k.answers(0, all, "*.h1.example.")
	k.judge(begin)
	if !k.isSure("h1.example.", k.areAsked()) || k.at["h0.example."] == k.at["h1.example."] {
		t.Errorf("it is not sure, at %v", k.at)
	}
}
