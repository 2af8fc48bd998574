package pact

import (
	"errors"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/edge/policy"
)

// What stands in a kernel and cannot be, is not taken in: its caller ends it there.
func TestAdoptRefuses(t *testing.T) {
	t.Parallel()
	o := options()
	s := New(o)
	well := stand(t, New(o), second, key(1, "hostb.b.example."), 1)
	if err := s.Adopt(second, well); err != nil {
		t.Fatal(err)
	}
	rests := stand(t, New(o), second, key(2, "rests.b.example."), 5)
	rests.Proxy = rests.Proxy.Next()
	for rests.Proxy == well.Proxy {
		rests.Proxy = rests.Proxy.Next()
	}
	rests.State, rests.Own, rests.Number, rests.Rests = Resting, 0x00070009, 9, second.Add(time.Minute)
	if err := s.Adopt(second, rests); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Pact){
		"the same":          func(*Pact) {},
		"its number":        func(p *Pact) { p.Proxy, p.Key = well.Proxy.Next().Next().Next(), key(3, "x.b.example.") },
		"its proxy address": func(p *Pact) { p.Own, p.Number, p.Key = 0x00010020, 0x20, key(3, "x.b.example.") },
		"its key":           func(p *Pact) { p.Own, p.Number, p.Proxy = 0x00010020, 0x20, well.Proxy.Next().Next().Next() },
		"a tag of another number": func(p *Pact) {
			p.Own, p.Number, p.Proxy, p.Key = 0x00010021, 0x20, well.Proxy.Next().Next().Next(), key(3, "x.b.example.")
		},
		"a number beyond the table": func(p *Pact) {
			p.Own, p.Number, p.Proxy, p.Key = 0x00010041, 0x41, well.Proxy.Next().Next().Next(), key(3, "x.b.example.")
		},
		"an address beyond the range": func(p *Pact) {
			p.Own, p.Number, p.Proxy, p.Key = 0x00010020, 0x20, key(3, "").Host, key(3, "x.b.example.")
		},
		"an address that rests":      func(p *Pact) { p.Own, p.Number, p.Proxy, p.Key = 0x00010020, 0x20, rests.Proxy, key(3, "x.b.example.") },
		"the same name, moved":       func(p *Pact) { p.Own, p.Number, p.Proxy, p.Key, p.Other = 0x00010020, 0x20, rests.Proxy, rests.Key, 6 },
		"nameless at one that rests": func(p *Pact) { p.Own, p.Number, p.Proxy, p.Key = 0x00010020, 0x20, rests.Proxy, Key{Host: rests.Host} },
		"one that was never agreed on": func(p *Pact) {
			p.State, p.Own, p.Number, p.Key, p.Proxy = Opening, 0x00010020, 0x20, key(3, "x.b.example."), well.Proxy.Next().Next().Next()
		},
		"a rest of an address in use": func(p *Pact) { p.State = Resting },
	} {
		p := well
		change(&p)
		if err := s.Adopt(second, p); !errors.Is(err, ErrAdopt) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if u := s.Usage(); u.Pacts != 1 || u.Resting != 1 {
		t.Errorf("what was refused has left something: %+v", u)
	}
}

// A daemon that is killed between the disk and the kernel has a pact that is over and stands: the disk knows its names.
func TestAdoptTakesTheNamesOfTheDisk(t *testing.T) {
	t.Parallel()
	s := New(options())
	p := stand(t, New(options()), second, key(1, "hostb.b.example."), 5)
	rests := p
	rests.State, rests.Rests = Resting, second.Add(time.Minute)
	if err := s.Adopt(second, rests); err != nil {
		t.Fatal(err)
	}
	nameless := p
	nameless.Key, nameless.Other, nameless.Peers = Key{Host: p.Host}, 0, ""
	if err := s.Adopt(second, nameless); err != nil {
		t.Fatal(err)
	}
	if got, found := s.ByKey(p.Key); !found || got.Other != 5 || got.Peers != p.Peers || got.Own != p.Own {
		t.Errorf("got %+v", got)
	}
}

// Numbers go on from the latest tag that they had, in whatever order it is told, so that a packet that is late by a restart
// finds no pact.
func TestTagsGoOnAfterARestart(t *testing.T) {
	t.Parallel()
	for _, uses := range [][]uint32{{0xfffe, 0xffff, 0}, {0, 0xffff, 0xfffe}, {0xffff, 0xfffe, 0}} {
		o := options()
		o.Most = 1
		s := New(o)
		proxy := stand(t, New(options()), second, key(1, "hostb.b.example."), 1).Proxy
		for i, use := range uses {
			proxy = proxy.Next()
			k := key(byte(i+2), "rests.b.example.")
			if err := s.Adopt(second, Pact{Key: k, Own: use<<16 | 1, Number: 1, State: Resting, Proxy: proxy, Rests: second.Add(time.Minute), Terms: policy.Widest}); err != nil {
				t.Fatal(err)
			}
		}
		if p, _, err := s.Open(second, key(1, "hostb.b.example."), "edge.b.example."); err != nil || p.Own != 0x00010001 {
			t.Errorf("after uses %#x: got %#08x, %v", uses, p.Own, err)
		}
	}
}
