package lists

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/events/event"
	"github.com/realmgate/realmgate/internal/guard/lists/settings"
)

// library is a service, and a server of lists.
type library struct {
	*Service
	t      *testing.T
	url    string
	folder string
	page   atomic.Pointer[string] // what every list is
	told   []string
}

func newLibrary(t *testing.T) *library {
	t.Helper()
	l := &library{t: t, folder: t.TempDir()}
	l.Service = New(Options{
		Events: l, Take: func(context.Context) error { return nil }, InForce: func() Contents { return nil }, Log: slog.New(slog.DiscardHandler),
	})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(*l.page.Load())) }))
	t.Cleanup(server.Close)
	l.url = server.URL
	if err := l.open(l.folder); err != nil {
		t.Fatal(err)
	}
	return l
}

// Emit implements Events.
func (l *library) Emit(e event.Event) {
	switch e := e.(type) {
	case event.ListFailed:
		l.told = append(l.told, fmt.Sprintf("%s %s %s", e.Kind(), e.List, e.Error))
	case event.ListRecovered:
		l.told = append(l.told, fmt.Sprintf("%s %s", e.Kind(), e.List))
	}
}

// prepare makes the feeds of lists by these names, refreshed every hour.
func (l *library) prepare(names ...string) []*fetched {
	l.t.Helper()
	var wanted []settings.List
	for _, name := range names {
		wanted = append(wanted, settings.List{Name: name, URL: l.url, Refresh: time.Hour})
	}
	next, err := l.Service.prepare(wanted)
	if err != nil {
		l.t.Fatal(err)
	}
	return next
}

// get refreshes a feed with a page.
func (l *library) get(f *fetched, page string) {
	l.t.Helper()
	l.page.Store(&page)
	if err := f.refresh(l.t.Context()); err != nil {
		l.t.Fatal(err)
	}
}

func (l *library) copies() (names []string) {
	l.t.Helper()
	files, err := os.ReadDir(l.folder)
	if err != nil {
		l.t.Fatal(err)
	}
	for _, f := range files {
		names = append(names, f.Name())
	}
	return names
}

// sizes are how many runs of addresses each list has in force.
func sizes(c Contents) map[string]int {
	n := map[string]int{}
	for name, set := range c {
		n[name] = len(set.Ranges())
	}
	return n
}

func TestOnlyOtherAddressesAreOtherContents(t *testing.T) {
	l := newLibrary(t)
	f := l.prepare("drop")
	if c, err := contentsOf(f, nil, 10); len(c) > 0 || len(c.Of("drop").Ranges()) > 0 || err != nil {
		t.Errorf("what was never had has %v, %v", c, err)
	}
	l.get(f[0], "# Monday\n192.0.2.1\n2001:db8::1\n")
	monday, _ := contentsOf(f, nil, 10)
	l.get(f[0], "# Tuesday\n192.0.2.1/32\n2001:db8::1\n")
	tuesday, _ := contentsOf(f, monday, 10)
	if monday["drop"] == nil || tuesday["drop"] != monday["drop"] {
		t.Error("the same addresses are another set")
	}
	l.get(f[0], "192.0.2.1\n2001:db8::2\n")
	wednesday, _ := contentsOf(f, tuesday, 10)
	if wednesday["drop"] == tuesday["drop"] || !wednesday["drop"].Contains(netip.MustParseAddr("2001:db8::2")) {
		t.Error("other IPv6 addresses are the same set")
	}
	l.get(f[0], "192.0.2.2\n")
	if now, _ := contentsOf(f, tuesday, 10); now["drop"] == tuesday["drop"] || now["drop"].Contains(netip.MustParseAddr("192.0.2.1")) {
		t.Error("other addresses are the same set")
	}
}

func TestListsWithoutRoomStayAsTheyWere(t *testing.T) {
	l := newLibrary(t)
	f := l.prepare("a", "b", "c")
	runs := func(n int) string {
		var page strings.Builder
		for i := range n {
			fmt.Fprintf(&page, "192.0.2.%d\n", 2*i)
		}
		return page.String()
	}
	var now Contents
	for _, step := range []struct {
		a, b, c int
		want    map[string]int
		says    string
	}{
		{3, 3, 3, map[string]int{"a": 3, "b": 3, "c": 3}, ""},
		{3, 4, 4, map[string]int{"a": 3, "b": 4, "c": 3}, "list c: the copy has 4"},
		{3, 5, 4, map[string]int{"a": 3, "b": 5}, "list c: the copy has 4"},
		{10, 1, 1, map[string]int{"a": 10}, "list b: the copy has 1"},
		{11, 1, 1, map[string]int{"a": 10}, "list a: the copy has 11"},
		{2, 1, 1, map[string]int{"a": 2, "b": 1, "c": 1}, ""},
	} {
		l.get(f[0], runs(step.a))
		l.get(f[1], runs(step.b))
		l.get(f[2], runs(step.c))
		var err error
		now, err = contentsOf(f, now, 10)
		if got := sizes(now); !reflect.DeepEqual(got, step.want) || (err == nil) != (step.says == "") || err != nil && !strings.Contains(err.Error(), step.says) {
			t.Errorf("%d, %d, %d: %v, %v; want %v, %s", step.a, step.b, step.c, got, err, step.want, step.says)
		}
	}
}

// What an operator reads tells a list that the disk did not take from one that did not come.
func TestListThatIsNotOnTheDiskIsToldApart(t *testing.T) {
	l := newLibrary(t)
	f := l.prepare("drop")[0]
	if err := os.RemoveAll(l.folder); err != nil {
		t.Fatal(err)
	}
	page := "192.0.2.1\n"
	l.page.Store(&page)
	if err := f.refresh(t.Context()); err == nil || f.List() == nil || left(err) != "the new copy, until a restart" {
		t.Errorf("a list that was not written: %v, %v", err, f.List())
	}
	another := "<html>"
	l.page.Store(&another)
	if err := f.refresh(t.Context()); err == nil || left(err) != "the last good copy" {
		t.Errorf("a list that did not come: %v", err)
	}
}

func TestListsThatStayAreNotMadeAgain(t *testing.T) {
	l := newLibrary(t)
	first := l.prepare("stays", "changes", "goes")
	l.replace(first)
	for _, f := range first {
		l.get(f, "192.0.2.1\n")
	}
	c := []settings.List{
		{Name: "new", URL: l.url, Refresh: time.Hour},
		{Name: "changes", URL: l.url, Refresh: 2 * time.Hour},
		first[0].config,
	}
	next, err := l.Service.prepare(c)
	if err != nil {
		t.Fatal(err)
	}
	if next[2] != first[0] || next[1] == first[1] || next[1].List() == nil || next[0].List() != nil {
		t.Errorf("%v became %v", first, next)
	}
	l.replace(next)
	if got := l.copies(); !reflect.DeepEqual(got, []string{"changes.list", "stays.list"}) {
		t.Errorf("on the disk are %v", got)
	}
	if all, err := l.Lists(); err != nil || len(all) != 3 || all[0].Name != "new" || !all[0].Fetched.IsZero() || all[2].Entries != 1 {
		t.Errorf("listed are %+v, %v", all, err)
	}
}

// A list that a reload takes away in the middle of its refresh leaves no copy behind, and
// the reload does not wait for its server.
func TestListThatIsOverWritesNothing(t *testing.T) {
	l := newLibrary(t)
	came, left := make(chan struct{}), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte("192.0.2.1\n"))
		_ = http.NewResponseController(w).Flush()
		close(came)
		<-r.Context().Done()
		close(left)
	}))
	t.Cleanup(server.Close)
	l.url = server.URL
	l.fetcher = NewFetcher("test", Limits{Timeout: time.Hour, Stall: time.Hour})
	slow := l.prepare("slow")
	l.replace(slow)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = l.Run(ctx)
	}()
	<-came
	l.replace(nil)
	<-left
	if err := slow[0].refresh(t.Context()); err != nil || slow[0].List() != nil {
		t.Errorf("it was fetched again: %v", err)
	}
	if got := l.copies(); len(got) > 0 {
		t.Errorf("on the disk are %v", got)
	}
	stop()
	<-ended
}

// What was told of a list that failed is over when one of its name is had, or when there is
// none any more, and not before. What the old one was about to tell is no news then.
func TestReloadEndsWhatWasToldOfLists(t *testing.T) {
	l := newLibrary(t)
	first := l.prepare("corrected", "removed", "well")
	l.replace(first)
	bad, ctx := errors.New("bad"), t.Context()
	for _, f := range first[:2] {
		l.tell(ctx, f, bad)
	}
	c := []settings.List{{Name: "corrected", URL: l.url, Refresh: 2 * time.Hour}, {Name: "well", URL: l.url, Refresh: 2 * time.Hour}}
	next, err := l.Service.prepare(c)
	if err != nil {
		t.Fatal(err)
	}
	l.replace(next)
	over, stop := context.WithCancel(ctx)
	stop()
	l.tell(over, first[0], nil)
	if len(next[0].now) != 1 || len(next[1].now) != 0 {
		t.Error("just the list that failed is to be fetched at once")
	}
	l.tell(ctx, next[1], nil)
	l.tell(ctx, next[0], bad)
	l.tell(ctx, next[0], nil)
	want := []string{"list_failed corrected bad", "list_failed removed bad", "list_recovered removed", "list_recovered corrected"}
	if got := l.told; !reflect.DeepEqual(got, want) {
		t.Errorf("told %q, want %q", got, want)
	}
}

func TestRefreshOfListsIsAskedForOnce(t *testing.T) {
	l := newLibrary(t)
	l.replace(l.prepare("a", "b"))
	for _, c := range []struct {
		ask  api.ListRequest
		want int
	}{{api.ListRequest{Lists: []string{"b"}}, 1}, {api.ListRequest{Lists: []string{"b", "b"}}, 1}, {api.ListRequest{Force: true}, 2}} {
		if done, err := l.RefreshLists(c.ask); err != nil || done.Lists != c.want {
			t.Errorf("%+v: %+v, %v", c.ask, done, err)
		}
	}
	if _, err := l.RefreshLists(api.ListRequest{Lists: []string{"a", "x"}}); err == nil || !strings.Contains(err.Error(), "no list x") {
		t.Errorf("of one that there is not: %v", err)
	}
	for _, f := range l.all {
		if len(f.now) != 1 {
			t.Errorf("list %s is asked for %d times", f.config.Name, len(f.now))
		}
	}
}

func TestListsTellWhatChanges(t *testing.T) {
	l := newLibrary(t)
	a, b := &fetched{config: settings.List{Name: "a"}}, &fetched{config: settings.List{Name: "b"}}
	bad := errors.New("bad")
	for _, step := range []struct {
		f   *fetched
		err error
	}{{a, nil}, {a, bad}, {b, nil}, {a, errors.New("worse")}, {b, bad}, {a, nil}, {a, nil}, {a, bad}} {
		l.tell(t.Context(), step.f, step.err)
	}
	want := []string{"list_failed a bad", "list_failed b bad", "list_recovered a", "list_failed a bad"}
	if got := l.told; !reflect.DeepEqual(got, want) {
		t.Errorf("told %q, want %q", got, want)
	}
}
