package ban

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/events/event"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/store"
)

// kernel is what the kernel's tables are: of the prefixes that an address is in, the narrowest decides.
type kernel struct {
	until   map[netip.Prefix]time.Time
	refuses bool
}

var errRefused = errors.New("the kernel refuses")

func (k *kernel) refused() error {
	if k.refuses {
		return errRefused
	}
	return nil
}

func (k *kernel) PutBans(until map[netip.Prefix]time.Time) error {
	if !k.refuses {
		maps.Copy(k.until, until)
	}
	return k.refused()
}

func (k *kernel) ExcludeFromBans(prefixes []netip.Prefix) error {
	excluded := map[netip.Prefix]time.Time{}
	for _, p := range prefixes {
		excluded[p] = time.Unix(1, 0) // it is over
	}
	return k.PutBans(excluded)
}

func (k *kernel) DeleteBans(prefixes []netip.Prefix) error {
	for _, p := range prefixes {
		if !k.refuses {
			delete(k.until, p)
		}
	}
	return k.refused()
}

func (k *kernel) Banned() ([]netip.Prefix, error) {
	return slices.Collect(maps.Keys(k.until)), k.refused()
}

func (k *kernel) JudgeAgain() error { return k.refused() }

func (k *kernel) drops(a netip.Addr) bool {
	for bits := a.BitLen(); bits >= 0; bits-- {
		if until, known := k.until[netip.PrefixFrom(a, bits).Masked()]; known {
			return until.IsZero() || until.After(time.Now())
		}
	}
	return false
}

// silence is who hears of bans.
type silence struct{}

func (silence) Emit(event.Event) {}

// offended is a service whom somebody offends. Nobody but the test runs it.
type offended struct {
	*Service
	t       *testing.T
	kernel  *kernel
	exempt  map[netip.Prefix]string // who must not be banned, and why
	started time.Time
	log     strings.Builder
}

// newOffended has the rules of a file that says nothing, where they say nothing.
func newOffended(t *testing.T, rules Rules) *offended {
	t.Helper()
	o := &offended{t: t, kernel: &kernel{until: map[netip.Prefix]time.Time{}}, exempt: map[netip.Prefix]string{}, started: time.Now()}
	if rules.Factor == 0 {
		rules.Factor, rules.Cap = 2, 168*time.Hour
	}
	rules.Memory, rules.Multiplier = 720*time.Hour, func(netip.Addr) float64 { return 1 }
	o.Service = New(Options{
		Folder: t.TempDir(), Events: silence{}, Rules: func() Rules { return rules },
		Exempt: func() (Exempt, error) {
			nobody := Allowed{func(netip.Prefix) error { return nil }, &model.AddressSet{}}
			return Exempt{nobody, maps.Clone(o.exempt)}, nil
		},
		Log: slog.New(slog.NewTextHandler(&o.log, nil)), Running: func() time.Duration { return time.Since(o.started) },
	})
	o.Service.kernel = o.kernel
	var err error
	o.store, err = store.Open(o.path())
	o.must(err)
	t.Cleanup(func() { _ = o.store.Close() })
	o.must(o.load())
	return o
}

func (o *offended) path() string { return filepath.Join(o.Folder, "bans.db") }

func (o *offended) must(err error) {
	o.t.Helper()
	if err != nil {
		o.t.Fatal(err)
	}
}

// restart forgets everything that is not on the disk.
func (o *offended) restart() {
	o.t.Helper()
	o.reopen()
	o.must(o.load())
}

// reopen closes the file, opens it as a start does, and forgets the bans.
func (o *offended) reopen() {
	o.t.Helper()
	o.must(o.store.Close())
	o.Service = New(o.Options)
	o.Service.kernel = o.kernel
	var err error
	o.store, err = store.Open(o.path())
	o.must(err)
}

// fullDisk has the disk take nothing while do runs.
func (o *offended) fullDisk(do func()) {
	o.t.Helper()
	o.must(o.store.Close())
	do()
	var err error
	o.store, err = store.Open(o.path())
	o.must(err)
}

// without has the kernel refuse everything while do runs.
func (o *offended) without(do func()) {
	o.kernel.refuses = true
	do()
	o.kernel.refuses = false
}

// all removes everything of a bucket.
func (o *offended) all(bucket string) store.Edit {
	e := store.Edit{Bucket: bucket}
	o.must(o.store.Each(bucket, func(key string, _ []byte) error { e.Remove = append(e.Remove, key); return nil }))
	return e
}

func (o *offended) offend(lasts time.Duration, addresses ...string) int {
	o.t.Helper()
	list := make([]Offence, len(addresses))
	for i, a := range addresses {
		list[i] = Offence{netip.MustParseAddr(a), "jail ssh: 5 failures"}
	}
	n, err := o.Offend(list, lasts)
	o.must(err)
	return n
}

// add bans a prefix by hand, for so many seconds; 0 is for ever.
func (o *offended) add(prefix string, seconds float64) error {
	_, err := o.AddBans(api.BanRequest{Prefixes: []netip.Prefix{netip.MustParsePrefix(prefix)}, Seconds: seconds})
	return err
}

// remove ends bans as realmgate ban remove does.
func (o *offended) remove(prefixes ...string) (api.BanChange, error) {
	var r api.BanRequest
	for _, p := range prefixes {
		r.Prefixes = append(r.Prefixes, netip.MustParsePrefix(p))
	}
	return o.RemoveBans(r)
}

// dropped are those of some addresses that the kernel drops.
func (o *offended) dropped(addresses ...string) (list []string) {
	for _, a := range addresses {
		if o.kernel.drops(netip.MustParseAddr(a)) {
			list = append(list, a)
		}
	}
	return list
}

// records are what is kept of the offenders on the disk.
func (o *offended) records() map[netip.Prefix]keptRecord {
	o.t.Helper()
	all := map[netip.Prefix]keptRecord{}
	o.must(eachKept(o.store, o.Log, offencesBucket, func(p netip.Prefix, k keptRecord) { all[p] = k }))
	return all
}

// warnings are what the status says.
func (o *offended) warnings() []string {
	o.t.Helper()
	var status api.Status
	o.must(o.Report(&status))
	return status.Warnings
}

// listed are the bans, with the hours that are left.
func (o *offended) listed() (list []string) {
	o.t.Helper()
	bans, err := o.Bans()
	o.must(err)
	for _, b := range bans {
		left := "for ever"
		if !b.Until.IsZero() {
			left = time.Until(b.Until).Round(time.Hour).String()
		}
		list = append(list, fmt.Sprintf("%s %s %s", b.Prefix, left, b.Reason))
	}
	slices.Sort(list)
	return list
}

func (o *offended) want(what string, want ...string) {
	o.t.Helper()
	if got := o.listed(); !slices.Equal(got, want) {
		o.t.Errorf("%s:\n%s\nwant\n%s", what, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
