package ability

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/events/event"
	"github.com/realmgate/realmgate/internal/model"
)

// bed is a service whose hosts are servers of the test, and what it told and promised.
type bed struct {
	*Service
	t        *testing.T
	at       map[string]netip.AddrPort // who answers for an endpoint; nobody: it is down
	events   chan event.Event
	promises map[netip.Addr]datapath.WebPromise
	set      int // times that promises were made
	fault    error
	disk     map[string][]byte
}

func (b *bed) Change(_ string, put map[string][]byte, remove []string) error {
	if b.fault != nil {
		return b.fault
	}
	maps.Copy(b.disk, put)
	for _, key := range remove {
		delete(b.disk, key)
	}
	return nil
}

func (b *bed) Each(_ string, visit func(string, []byte) error) error {
	for key, value := range b.disk {
		if err := visit(key, value); err != nil {
			return err
		}
	}
	return nil
}

func (b *bed) SetWebPromises(p map[netip.Addr]datapath.WebPromise) error {
	if b.fault == nil {
		b.promises = p
		b.set++
	}
	return b.fault
}

func (b *bed) Emit(e event.Event) { b.events <- e }

// newBed has as many hosts as certificates, and the names in these.
func newBed(t *testing.T, addresses int, certificates ...[]string) *bed {
	b := &bed{t: t, at: map[string]netip.AddrPort{}, disk: map[string][]byte{}, events: make(chan event.Event, 100)}
	b.begins()
	for i, names := range certificates {
		e := endpointOf(i)
		b.at[e.To.String()] = serve(t, shows(t, map[string]*tls.Certificate{e.Names[0]: certificateFor(t, names...)}))
	}
	b.follows(len(certificates), addresses)
	return b
}

// begins has a new daemon begin.
func (b *bed) begins() {
	b.t.Helper()
	b.Service = New(Options{
		Plane: func() Plane { return b }, Store: func() Store { return b }, Events: b, Log: slog.New(slog.DiscardHandler),
		Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
			if to, is := b.at[address]; is {
				return new(net.Dialer).DialContext(ctx, network, to.String())
			}
			return nil, errors.New("refused")
		},
	})
	if err := b.Read(); err != nil {
		b.t.Error(err)
	}
}

// weakens has the service hear of a weak host.
func (b *bed) weakens(host model.Name, to netip.AddrPort, via netip.Addr, can datapath.WebPromise) {
	b.Weak(host, to, via, can)
	b.hear(<-b.weak)
}

func (b *bed) follows(hosts, addresses int) {
	b.Prepare(hostsOf(hosts), addressesOf(addresses)).Settle()
}

// asks asks all who are due.
func (b *bed) asks() {
	for {
		due, _ := b.known.next(time.Now())
		if len(due) == 0 {
			return
		}
		for _, e := range due {
			b.ask(b.t.Context(), e)
		}
	}
}

// told wants exactly these events.
func (b *bed) told(want ...event.Event) {
	b.t.Helper()
	var got []event.Event
	for len(b.events) > 0 {
		got = append(got, <-b.events)
	}
	if !slices.Equal(got, want) {
		b.t.Errorf("told were %+v, want %+v", got, want)
	}
}

func (b *bed) warns(want ...string) {
	b.t.Helper()
	var status api.Status
	if err := b.Report(&status); err != nil || len(status.Warnings) != len(want) {
		b.t.Fatalf("%v, warnings %q, want %q", err, status.Warnings, want)
	}
	for i, w := range status.Warnings {
		if !strings.Contains(w, want[i]) {
			b.t.Errorf("warning %q, want %q", w, want[i])
		}
	}
}

func TestServicePlacesAndPromises(t *testing.T) {
	t.Parallel()
	b := newBed(t, 2, []string{"www.h0.example", "*.h1.example"}, []string{"www.h1.example"})
	addresses := addressesOf(2)
	if b.At("h0.example.").At != addresses[0] || b.At("h1.example.").At != addresses[0] || b.At("other.") != (Place{}) {
		t.Errorf("before: %s, %s", b.At("h0.example.").At, b.At("h1.example.").At)
	}
	b.asks()
	if at0, at1 := b.At("h0.example.").At, b.At("h1.example.").At; at0 == at1 || !slices.Contains(addresses, at0) || !slices.Contains(addresses, at1) {
		t.Errorf("at %s and %s", at0, at1)
	}
	for _, a := range addresses {
		if p := b.promises[a]; !p.SACK || !p.Timestamps || p.MSS < 1460 {
			t.Errorf("%s promises %+v", a, p)
		}
	}
	b.told()
	b.warns()
	rows := b.Rows(api.Filter{})
	if len(rows) != 2 || rows[0].Host != "h0.example." || rows[0].State != api.WebAsked || rows[0].MSS < 1460 || !rows[0].Scale || rows[0].Asked.IsZero() ||
		fmt.Sprint(rows[0].Certificate) != "[www.h0.example. *.h1.example.]" || rows[0].Address != b.At("h0.example.").At || len(rows[0].Ports) != 1 {
		t.Errorf("%+v", rows)
	}
	if rows := b.Rows(api.Filter{Address: b.At("h1.example.").At}); len(rows) != 1 || rows[0].Host != "h1.example." {
		t.Errorf("%+v", rows)
	}

	set := b.set
	b.follows(2, 2)
	b.asks()
	if b.set != set {
		t.Error("the same is promised again")
	}
	delete(b.at, endpointOf(1).To.String())
	for range 2 {
		b.follows(2, 1)
		b.asks()
	}
	b.told(event.CertificateShared{Host: "h0.example.", Other: "h1.example.", Name: "www.h1.example.", Address: addresses[0]})
	b.warns("the certificate of h0.example. covers www.h1.example. of h1.example., and both are at web address 198.18.0.80")
	if row := b.Rows(api.Filter{Host: "h1.example."})[0]; row.State != api.WebDown || row.MSS < 1460 || len(row.Certificate) != 1 {
		t.Errorf("of one that is down: %+v", row)
	}
	b.follows(0, 0)
	if b.told(); len(b.promises) != 0 {
		t.Errorf("nobody is there: %v", b.promises)
	}
}

func TestServiceHearsOfWeakHosts(t *testing.T) {
	t.Parallel()
	b := newBed(t, 1, []string{"www.h0.example"}, []string{"www.h1.example"})
	b.asks()
	b.told()
	address, to := addressesOf(1)[0], endpointOf(0).To
	b.weakens("h0.example.", to, address, datapath.WebPromise{MSS: 1400, SACK: true, Timestamps: true})
	b.told(event.HostWeak{Host: "h0.example.", Address: address, MSS: 1400, SACK: true, Timestamps: true, Ended: true})
	if p := b.promises[address]; p != (datapath.WebPromise{MSS: 1400, SACK: true, Timestamps: true}) {
		t.Errorf("promised is %+v", p)
	}
	b.warns("h0.example. has an MSS of 1400, and holds the others at web address 198.18.0.80 back")
	b.weakens("h0.example.", to, address, datapath.WebPromise{MSS: 1400, SACK: true, Timestamps: true})
	b.follows(2, 1)
	b.asks()
	b.told()
	b.weakens("h0.example.", to, address, datapath.WebPromise{MSS: 1460})
	b.told(event.HostWeak{Host: "h0.example.", Address: address, MSS: 1400, Ended: true})
	b.weakens("other.", netip.AddrPort{}, address, datapath.WebPromise{})
	b.told()

	b.fault = errors.New("no room")
	b.weakens("h0.example.", to, address, datapath.WebPromise{MSS: 536})
	b.fault = nil
	b.follows(2, 1)
	if b.promises[address].MSS != 536 {
		t.Errorf("a promise that failed is not made later: %+v", b.promises)
	}
}

// However often clients find a host weak, nobody waits for that, and what they find is judged once.
func TestServiceHearsTheSameOnce(t *testing.T) {
	t.Parallel()
	b := newBed(t, 1, []string{"www.h0.example"}, []string{"www.h1.example"})
	b.asks()
	can := datapath.WebPromise{MSS: 1400, SACK: true, Timestamps: true}
	for range 2 * mostWeak {
		b.Weak("h0.example.", endpointOf(0).To, addressesOf(1)[0], can)
	}
	if len(b.weak) != mostWeak {
		t.Errorf("%d wait", len(b.weak))
	}
	set := b.set
	for range mostWeak {
		b.hear(<-b.weak)
		b.promised = nil // a judgement promises anew
	}
	if b.set != set+1 {
		t.Errorf("it was judged %d times", b.set-set)
	}
}

// One that can less than others when it is asked is told as well; and again once it had been well.
func TestServiceTellsOfWeakHosts(t *testing.T) {
	t.Parallel()
	b := newBed(t, 1, []string{"www.h0.example"}, []string{"www.h1.example"})
	b.asks()
	take := func(can Can) {
		b.mutex.Lock()
		defer b.mutex.Unlock()
		b.known.asking++
		b.known.take(endpointOf(1), Answer{Can: can}, time.Now())
		b.apply(time.Now())
	}
	weak := all
	weak.SACK = false
	want := event.HostWeak{Host: "h1.example.", Address: addressesOf(1)[0], MSS: 1460, Timestamps: true}
	take(weak)
	take(weak)
	b.told(want)
	take(all)
	b.told()
	take(weak)
	b.told(want)
}

// The service asks by itself when it runs.
func TestServiceRuns(t *testing.T) {
	t.Parallel()
	b := newBed(t, 1, []string{"www.h0.example", "www.h1.example"}, []string{"www.h1.example"})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- b.Run(ctx) }()
	if e, is := (<-b.events).(event.CertificateShared); !is || e.Other != "h1.example." {
		t.Errorf("told was %+v", e)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestLook(t *testing.T) {
	t.Parallel()
	b := newBed(t, 1, []string{"www.h0.example"}, []string{"www.h1.example", "www.h0.example"})
	got := Look(t.Context(), b.Dial, hostsOf(3), addressesOf(1))
	if len(got) != 1 || !strings.HasPrefix(got[0], "the certificate of h1.example. covers www.h0.example. of h0.example.") {
		t.Errorf("%q", got)
	}
	if got := Look(t.Context(), b.Dial, nil, nil); len(got) != 0 {
		t.Errorf("without hosts: %q", got)
	}
}

func TestWarningsAreBounded(t *testing.T) {
	t.Parallel()
	k := follows(hostsOf(30), 1)
	weak := all
	weak.SACK = false
	for i := range 30 {
		can := weak
		if i == 0 {
			can = all
		}
		k.answers(i, can, "*.h1.example.", "www.h0.example.")
	}
	j := k.judge(begin)
	if got := j.warnings(); len(got) != 2*(mostWarned+1) || !strings.HasPrefix(got[mostWarned], "21 more hosts") {
		t.Errorf("%d: %q", len(got), got)
	}
}
