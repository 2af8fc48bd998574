package dynamic

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/events/event"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/names/dynamic/settings"
	"github.com/realmgate/realmgate/internal/nameserver"
	"github.com/realmgate/realmgate/internal/registry"
	"github.com/realmgate/realmgate/internal/store"
)

// house is a service with all around it. The gateway remembers what it is told.
type house struct {
	Updates
	t       *testing.T
	folder  string
	entries []settings.Entry
	mutex   sync.Mutex // guards what follows
	hosts   map[model.Name]netip.Addr
	specs   map[model.Name]registry.HostSpec
	open    map[datapath.Service]bool
	told    []string
	full    error
	refuses model.Name                // that Put does not take
	lent    map[model.Name]netip.Addr // what the pool leads to
	with    []netip.Addr              // hosts that sessions are with
	led     []netip.Addr              // hosts that connections to web addresses are led to, but not with yet
	late    []string                  // what was opened while something led there
}

func newHouse(t *testing.T, entries ...settings.Entry) *house {
	h := &house{t: t, folder: t.TempDir(), entries: entries}
	h.starts()
	return h
}

// starts is the start of a daemon.
func (h *house) starts() {
	h.t.Helper()
	h.specs, h.led = map[model.Name]registry.HostSpec{}, nil // what the daemon before had led is forgotten
	h.hosts, h.open, h.told, h.refuses = map[model.Name]netip.Addr{}, map[datapath.Service]bool{}, nil, ""
	kept, err := store.Open(filepath.Join(h.folder, "store"))
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { _ = kept.Close() })
	h.Service = New(Options{
		Plane: func() Plane { return h }, Pool: func() Pool { return h }, Reconsider: h.reconsider, Changed: func() {},
		Events: h, Now: time.Now, Log: slog.New(slog.DiscardHandler),
	})
	opened, err := h.Open(kept, h.configured())
	if err != nil {
		h.t.Fatal(err)
	}
	opened.Settle()
}

func (h *house) configured() Configured {
	return Configured{File: filepath.Join(h.folder, "realmgate.yaml"), Realm: h, Entries: h.entries}
}

// again has the daemon end and another begin.
func (h *house) again() {
	h.t.Helper()
	if err := h.store.(*store.Store).Close(); err != nil {
		h.t.Fatal(err)
	}
	h.starts()
}

// runs has the daemon run until the test ends.
func (h *house) runs() {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = h.Run(ctx) }()
	h.t.Cleanup(func() { cancel(); <-done })
}

func (h *house) Named(model.Name) string     { return "" }
func (h *house) Addressed(netip.Addr) string { return "" }
func (h *house) Expect(int)                  {}

func (h *house) Put(_ model.Name, spec registry.HostSpec) (*registry.Host, error) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if spec.Name == h.refuses {
		return nil, errors.New("it is taken")
	}
	h.hosts[spec.Name], h.specs[spec.Name] = spec.Address, spec
	return &registry.Host{}, nil
}

func (h *house) Remove(_, name model.Name) *registry.Host {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	delete(h.hosts, name)
	return nil
}

func (h *house) OpenServices(list []datapath.Service) error {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if h.full != nil {
		return h.full
	}
	for _, s := range list {
		h.open[s] = true
		if h.leads(s.Host) {
			h.late = append(h.late, s.Host.String())
		}
	}
	return nil
}

func (h *house) CloseServices(list []datapath.Service) error {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	for _, s := range list {
		delete(h.open, s)
	}
	return nil
}

func (h *house) EndSessions(match func(datapath.Session) bool) (int, error) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	h.with = slices.DeleteFunc(h.with, func(a netip.Addr) bool {
		return match(datapath.Session{Origin: "pool", Private: netip.AddrPortFrom(a, 22)})
	})
	return 0, nil
}

func (h *house) Registered(gone []model.Name) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	for _, name := range gone {
		delete(h.lent, name)
	}
}

// visit has somebody outside be with a host.
func (h *house) visit(name model.Name) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	h.with, h.lent = append(h.with, h.hosts[name]), map[model.Name]netip.Addr{name: h.hosts[name]}
	h.led = append(h.led, h.hosts[name])
}

// reconsider has connections to web addresses lead to hosts of now. What leads to another in the end is a session with it.
func (h *house) reconsider() {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	h.led = slices.DeleteFunc(h.led, func(a netip.Addr) bool { return !slices.Contains(slices.Collect(maps.Values(h.hosts)), a) })
}

// leads reports whether something that was opened before leads to an address.
func (h *house) leads(a netip.Addr) bool {
	for _, at := range h.lent {
		if at == a {
			return true
		}
	}
	return slices.Contains(h.with, a) || slices.Contains(h.led, a)
}

// visited reports whether it does still.
func (h *house) visited(a string) bool {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	return h.leads(netip.MustParseAddr(a)) || len(h.late) > 0
}

func (h *house) Emit(e event.Event) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	h.told = append(h.told, e.Kind().String())
}

// has are the hosts that the gateway knows.
func (h *house) has() string {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	var list []string
	for name, at := range h.hosts {
		list = append(list, strings.TrimSuffix(name.String(), ".home.example.")+"@"+at.String())
	}
	slices.Sort(list)
	return strings.Join(list, " ")
}

func (h *house) soon(want string) {
	h.t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(20 * time.Second); h.has() != want; <-tick.C {
		if time.Now().After(deadline) {
			h.t.Fatalf("there is %q, want %q", h.has(), want)
		}
	}
}

func (h *house) path() string { return filepath.Join(h.folder, "leases") }

// write writes the lease file in place, or, where moved, beside it first. A lease is "name@address client".
func (h *house) write(moved bool, leases ...string) {
	h.t.Helper()
	text := ""
	for _, l := range leases {
		at, client, _ := strings.Cut(l, " ")
		name, address, _ := strings.Cut(at, "@")
		text += fmt.Sprintf("%d 02:00:00:00:00:01 %s %s %s\n", time.Now().Add(time.Hour).Unix(), address, name, client)
	}
	path := h.path()
	if moved {
		path += ".new"
	}
	err := os.WriteFile(path, []byte(text), 0o600)
	if moved {
		err = errors.Join(err, os.Rename(path, h.path()))
	}
	if err != nil {
		h.t.Fatal(err)
	}
}

func (h *house) warnings() string {
	h.t.Helper()
	var s api.Status
	if err := h.Report(&s); err != nil {
		h.t.Fatal(err)
	}
	return strings.Join(s.Warnings, "\n")
}

// Files are followed however they are written. What is there at the start is there before anything else, and is not told.
func TestFilesAreFollowed(t *testing.T) {
	t.Parallel()
	h := newHouse(t, home())
	if got := h.warnings(); !strings.Contains(got, "leases is not there") {
		t.Errorf("%q", got)
	}
	h.write(false, "laptop@10.0.1.5 aa")
	h.again()
	if h.has() != "laptop@10.0.1.5" || len(h.open) != 2 || h.warnings() != "" {
		t.Errorf("after the start: %q, %d services, %q", h.has(), len(h.open), h.warnings())
	}
	h.runs()
	h.write(false, "laptop@10.0.1.5 aa", "phone@10.0.2.5 bb")
	h.soon("laptop@10.0.1.5 phone@10.0.2.5")
	h.write(true, "phone@10.0.2.5 bb", "tv@10.0.2.6 cc")
	h.soon("phone@10.0.2.5 tv@10.0.2.6")
	if err := os.Remove(h.path()); err != nil {
		t.Fatal(err)
	}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(20 * time.Second); !strings.Contains(h.warnings(), "not there") && time.Now().Before(deadline); <-tick.C {
	}
	if h.has() != "phone@10.0.2.5 tv@10.0.2.6" || !strings.Contains(h.warnings(), "not there") {
		t.Errorf("without the file: %q, %q", h.has(), h.warnings())
	}
	h.write(true, "tv@10.0.2.6 cc", "tv@10.0.2.7 dd", "worse")
	h.soon("tv@10.0.2.6")
	if got := h.warnings(); !strings.Contains(got, "tv at 10.0.2.7 is not registered: it is somebody else's") || !strings.Contains(got, "line 3") {
		t.Errorf("%q", got)
	}
	told := func() string {
		h.mutex.Lock()
		defer h.mutex.Unlock()
		return strings.Join(h.told, " ")
	}
	const want = "host_registered host_registered host_ended host_ended" // phone, tv; laptop, phone
	for deadline := time.Now().Add(20 * time.Second); told() != want && time.Now().Before(deadline); <-tick.C {
	}
	if got := told(); got != want {
		t.Errorf("told is %q", got)
	}
}

// A restart gives nobody's name to a neighbour who is first in the file by then.
func TestWhoHasANameKeepsItOverARestart(t *testing.T) {
	t.Parallel()
	h := newHouse(t, home())
	h.write(false, "laptop@10.0.1.5 aa")
	h.again()
	h.write(false, "laptop@10.0.1.4 ee", "*@10.0.1.5 aa") // as dnsmasq writes it
	h.again()
	if h.has() != "laptop@10.0.1.5" {
		t.Errorf("%q", h.has())
	}
	h.write(false, "laptop@10.0.1.4 ee")
	h.again()
	if h.has() != "laptop@10.0.1.4" {
		t.Errorf("nobody has it any more: %q", h.has())
	}
}

// An update is on the disk or has not been. It outlives restarts with the identifiers of names and when it was signed.
func TestRegister(t *testing.T) {
	t.Parallel()
	e := home()
	e.Source, e.File, e.Key = settings.Update, "", "d2."
	h := newHouse(t, e)
	register := func(name, address string, clients ...string) error {
		r := nameserver.Registration{Clients: clients}
		r.Address, _ = netip.ParseAddr(address)
		return h.Register("home.example.", "d2.", map[model.Name]nameserver.Registration{model.Name(name + ".home.example."): r}, 4711)
	}
	if err := errors.Join(register("laptop", "10.0.1.5", "one"), register("past", "", "two")); err != nil || h.has() != "laptop@10.0.1.5" {
		t.Fatalf("%q, %v", h.has(), err)
	}
	for name, address := range map[string]string{"other": "10.0.1.5", "foreign": "10.0.9.9", "x.laptop": "10.0.1.6", "wpad": "10.0.1.6"} {
		if err := register(name, address); err == nil || h.has() != "laptop@10.0.1.5" {
			t.Errorf("%s: %q", name, h.has())
		}
	}
	both := map[model.Name]nameserver.Registration{"laptop.home.example.": {}, "foreign.home.example.": {Address: netip.MustParseAddr("10.0.9.9")}}
	if err := h.Register("home.example.", "d2.", both, 4712); err == nil || h.has() != "laptop@10.0.1.5" || h.Registration("home.example.", "d2.", "laptop.home.example.").Empty() {
		t.Errorf("half an update: %q", h.has())
	}
	if h.Registers("home.example.", "other.") || h.Registers("foo.example.", "d2.") || !h.Registers("home.example.", "d2.") {
		t.Error("a key registers what it must not, or not what it may")
	}
	h.again()
	if got := h.Registration("home.example.", "d2.", "past.home.example."); !slices.Equal(got.Clients, []string{"two"}) || h.has() != "laptop@10.0.1.5" || h.Signed("d2.") != 4711 {
		t.Errorf("after a restart: %q, %+v, %d", h.has(), got, h.Signed("d2."))
	}
	h.full = datapath.ErrServicesFull
	if err := register("tv", "10.0.1.7"); !errors.Is(err, datapath.ErrServicesFull) || h.has() != "laptop@10.0.1.5" {
		t.Errorf("a table that is full: %q, %v", h.has(), err)
	}
	if h.full = nil; !h.Registration("home.example.", "d2.", "tv.home.example.").Empty() {
		t.Error("who was refused is registered")
	}
	h.again()
	if h.has() != "laptop@10.0.1.5" {
		t.Errorf("who was refused is there after a restart: %q", h.has())
	}
	if err := h.store.(*store.Store).Close(); err != nil {
		t.Fatal(err)
	}
	if err := register("laptop", "10.0.1.8", "one"); !errors.Is(err, nameserver.ErrNotKept) || h.has() != "laptop@10.0.1.5" {
		t.Errorf("a disk that takes nothing: %q, %v", h.has(), err)
	}
}
