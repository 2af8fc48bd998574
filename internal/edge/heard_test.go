package edge

import (
	"slices"
	"testing"

	"github.com/realmgate/realmgate/internal/edge/policy"
	"github.com/realmgate/realmgate/internal/edge/wire"
	"github.com/realmgate/realmgate/internal/model"
)

// What is said of services is heard the same, also of ports that follow one another; and a key that nobody knows refuses
// only where it is required.
func TestTermsAreHeardAsSaid(t *testing.T) {
	t.Parallel()
	terms := policy.Widest
	terms.Services = policy.ServicesOf([]model.Port{{Protocol: model.TCP, Port: 80, To: 80}, {Protocol: model.TCP, Port: 81, To: 81}, {Protocol: model.ICMP}})
	if got, known := heard(said(terms)); !known || !slices.Equal(got.Services.List, terms.Services.List) {
		t.Errorf("got %v, %v, want %v", got.Services, known, terms.Services)
	}
	_, b := newPair(t, nil)
	for _, c := range []struct {
		offer, require []string
		refused        bool
	}{{[]string{"colour"}, nil, false}, {nil, []string{"colour"}, true}} {
		b.mu.Lock()
		answer := far{b.Service}.admit(b.peerNamed("edge.a.example."), wire.Open{
			ID: 1, From: "hosta.a.example.", To: "hostb.b.example.", Tag: 77, Host: 1, Round: 1,
			Offer: wire.Terms{Name: "full", Unknown: c.offer}, Require: wire.Terms{Unknown: c.require},
		})
		b.mu.Unlock()
		if r, is := answer.(wire.Refuse); is != c.refused || is && r.Reason != wire.RefusedRequirement {
			t.Errorf("offer %v, require %v: got %+v", c.offer, c.require, answer)
		}
	}
}

// A name that stands for another machine has another pact, by another proxy address.
func TestMovedNameHasAnotherAddress(t *testing.T) {
	t.Parallel()
	_, b := newPair(t, nil)
	var before wire.Tag
	for host := range wire.HostID(3) {
		b.mu.Lock()
		answer := far{b.Service}.admit(b.peerNamed("edge.a.example."), wire.Open{
			ID: uint64(host), From: "hosta.a.example.", To: "hostb.b.example.", Tag: 77, Host: host, Round: 1, Offer: wire.Terms{Name: "full"},
		})
		b.mu.Unlock()
		accept, is := answer.(wire.Accept)
		if !is || accept.Tag == before || len(b.plane.all()) != 1 {
			t.Errorf("machine %d: got %+v, %d pacts in the data plane", host, answer, len(b.plane.all()))
		}
		before = accept.Tag
	}
}
