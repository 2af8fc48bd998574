package rest

import (
	"maps"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/model"
)

var (
	address, other = netip.MustParseAddr("198.18.0.80"), netip.MustParseAddr("198.18.0.81")
	now            = time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
)

func port(a netip.Addr, number uint16) datapath.Service {
	return datapath.Service{Host: a, Protocol: model.TCP, Port: number}
}

// memory is a store.
type memory map[string][]byte

func (m memory) Change(_ string, put map[string][]byte, remove []string) error {
	maps.Copy(m, put)
	for _, key := range remove {
		delete(m, key)
	}
	return nil
}

func (m memory) Each(_ string, visit func(string, []byte) error) error {
	for key, value := range m {
		if err := visit(key, value); err != nil {
			return err
		}
	}
	return nil
}

// What leaves the web rests for the time that names were answered for, unless the web has it back.
func TestPortsThatLeaveTheWeb(t *testing.T) {
	t.Parallel()
	had := []datapath.Service{port(address, 80), port(address, 443)}
	p := Ports(nil).Next(nil, had, time.Minute, now)
	if len(p) != 0 {
		t.Fatalf("%v rests, and the web has it", p)
	}
	p = p.Next(had, had[:1], time.Minute, now)
	for _, c := range []struct {
		a        netip.Addr
		protocol model.Protocol
		port     uint16
		after    time.Duration
		left     time.Duration
	}{
		{address, model.TCP, 443, 0, time.Minute}, {address, model.TCP, 443, 59 * time.Second, time.Second}, {address, model.TCP, 443, time.Minute, 0},
		{address, model.TCP, 80, 0, 0}, {address, model.UDP, 443, 0, 0}, {other, model.TCP, 443, 0, 0}, {address, model.ICMP, 0, 0, 0},
		{address, model.AnyProtocol, 0, 0, time.Minute}, {other, model.AnyProtocol, 0, 0, 0}, {address, model.AnyProtocol, 0, time.Hour, 0},
	} {
		if left := p.Left(c.a, c.protocol, c.port, now.Add(c.after)); left != c.left {
			t.Errorf("%s %d of %s after %s: %s left, want %s", c.protocol, c.port, c.a, c.after, left, c.left)
		}
	}
	if at := p.At(func(a netip.Addr) bool { return a == address }, now); !slices.Equal(at, had[1:]) {
		t.Errorf("at the address %v rest", at)
	}
	if back := p.Next(nil, had, time.Minute, now); len(back) != 0 {
		t.Errorf("%v rests, and the web has it back", back)
	}
	if over := p.Next(nil, nil, time.Minute, now.Add(time.Hour)); len(over) != 0 {
		t.Errorf("%v rests after an hour", over)
	}
}

// A restart forgets nothing: what the web had when the daemon ended rests from the start on.
func TestPortsOverARestart(t *testing.T) {
	t.Parallel()
	had, store := []datapath.Service{port(address, 80), port(address, 443)}, memory{}
	p := Ports(nil).Next([]datapath.Service{port(other, 80)}, had, time.Minute, now)
	if err := p.Write(store, had, time.Hour); err != nil {
		t.Fatal(err)
	}
	later := now.Add(10 * time.Second)
	read, err := Read(store, had[:1], later)
	if err != nil || len(read) != 2 || !read[port(other, 80)].Equal(now.Add(time.Minute)) || !read[port(address, 443)].Equal(later.Add(time.Hour)) {
		t.Errorf("%v, %v", read, err)
	}
	if err := read.Write(store, had[:1], time.Hour); err != nil || len(store) != 3 {
		t.Errorf("kept are %d, %v", len(store), err)
	}
	if err := Ports(nil).Write(store, nil, time.Hour); err != nil || len(store) != 0 {
		t.Errorf("kept are %d, %v", len(store), err)
	}
	store["x"] = []byte("{")
	if read, err := Read(store, nil, now); err == nil || len(read) != 0 {
		t.Errorf("%v, %v", read, err)
	}
}

// Nobody gets what rests, whole or a port of it, before its time is over.
func TestWhatRestsIsRefused(t *testing.T) {
	t.Parallel()
	p := Ports(nil).Next([]datapath.Service{port(address, 80)}, nil, time.Minute, now)
	for _, c := range []struct {
		whole []netip.Addr
		ports []datapath.Service
		after time.Duration
		want  string
	}{
		{nil, nil, 0, ""},
		{[]netip.Addr{other}, []datapath.Service{port(address, 443)}, 0, ""},
		{[]netip.Addr{other, address}, nil, 0, "198.18.0.80 was of the web until now, and clients may still come to what it was: it can be used in 1m0s"},
		{nil, []datapath.Service{port(other, 80), port(address, 80)}, 50 * time.Second, "198.18.0.80 was of the web until now, and clients may still come to what it was: it can be used in 10s"},
		{[]netip.Addr{address}, nil, time.Minute, ""},
	} {
		got := ""
		if err := p.Refuse(c.whole, c.ports, now.Add(c.after)); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}
