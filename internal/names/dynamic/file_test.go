package dynamic

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/names/dynamic/settings"
)

const keaRest = ",02:00:00:00:00:01,,3600,1796040000,1,0,0,"

// meanwhile does something over and over, many times at most, until it is ended.
func meanwhile(t *testing.T, do func(n int) error) (end func()) {
	t.Helper()
	stop, done, first := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for n := range 100_000 {
			if err := do(n); err != nil {
				t.Error(err)
			}
			if n == 0 {
				close(first)
			}
			select {
			case <-stop:
				return
			default:
			}
		}
	}()
	<-first
	return func() { close(stop); <-done }
}

// leases are so many lines of addresses of their own.
func leases(n int, line func(address string) string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(line(netip.AddrFrom4([4]byte{10, 1 + byte(i>>16), byte(i >> 8), byte(i)}).String()))
	}
	return b.String()
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// A client that has Kea write all the time keeps nobody from being registered: what was there is read.
func TestKeaIsReadWhileItAppends(t *testing.T) {
	path := filepath.Join(t.TempDir(), "kea")
	put(t, path, keaHead+leases(20_000, func(a string) string { return a + keaRest + "x,0,\n" }))
	file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	end := meanwhile(t, func(int) error {
		_, err := file.WriteString("10.0.9.9" + keaRest + "busy,0,\n")
		return err
	})
	defer end()
	for range 10 {
		if c, _, err := readFiles(settings.Kea, path); err != nil || len(c.leases) != 20_001 || c.bad > 0 {
			t.Fatalf("%d leases, %d bad: %v", len(c.leases), c.bad, err)
		}
	}
}

func TestOnlyKeaAppends(t *testing.T) {
	was := stamp{"x", 7, 100, time.Unix(1, 0)}
	for about, c := range map[string]struct {
		after      stamp
		kea, other bool
	}{
		"as it was": {was, true, true},
		"longer":    {stamp{"x", 7, 101, time.Unix(2, 0)}, true, false},
		"shorter":   {stamp{"x", 7, 99, time.Unix(2, 0)}, false, false},
		"another":   {stamp{"x", 8, 100, time.Unix(1, 0)}, false, false},
		"gone":      {stamp{path: "x"}, false, false},
		"touched":   {stamp{"x", 7, 100, time.Unix(2, 0)}, true, false},
	} {
		if kea, other := was.holds(settings.Kea, c.after), was.holds(settings.Dnsmasq, c.after); kea != c.kea || other != c.other {
			t.Errorf("%s: %v for Kea, %v for others", about, kea, other)
		}
	}
}

// A file that is written anew all the time is not read, which is told. The leases that it had are not over until it is.
func TestFileThatNeverRests(t *testing.T) {
	t.Parallel()
	h := newHouse(t, home())
	h.write(false, "laptop@10.0.1.5 aa")
	of := h.sources[entryKey(home())]
	h.look(of, true, h.Now())
	for n := range mostMoving {
		if got := h.warnings(); got != "" {
			t.Fatalf("it is told after %d times: %q", n, got)
		}
		if h.took(of, contents{}, nil, errMoving, h.Now()); of.due.IsZero() {
			t.Error("it is not read again")
		}
	}
	if got := h.warnings(); !strings.Contains(got, "leases: it changes while it is read") {
		t.Errorf("%q", got)
	}
	h.Now = func() time.Time { return time.Now().Add(2 * time.Hour) }
	if h.expire(); h.has() != "laptop@10.0.1.5" {
		t.Errorf("what its file says now is not known, and there is %q", h.has())
	}
	put(t, h.path(), fmt.Sprintf("%d 02:00:00:00:00:01 10.0.1.5 laptop aa\n", h.Now().Add(time.Hour).Unix()))
	if h.look(of, true, h.Now()); h.has() != "laptop@10.0.1.5" || h.warnings() != "" {
		t.Errorf("%q, %q", h.has(), h.warnings())
	}
	h.Now = func() time.Time { return time.Now().Add(4 * time.Hour) }
	if h.expire(); h.has() != "" {
		t.Errorf("its lease is over: %q", h.has())
	}
}

// What such a file says twice the same is taken at last. Who is missing in it may be written just then, and stays until its lease
// ends, or the file can be read whole.
func TestFileThatNeverRestsIsTakenAtLast(t *testing.T) {
	t.Parallel()
	h := newHouse(t, home())
	h.write(false, "laptop@10.0.1.5 aa", "tv@10.0.2.6 cc")
	of := h.sources[entryKey(home())]
	h.look(of, true, h.Now())
	ends := h.Now().Add(2 * time.Hour).Truncate(time.Second)
	lease := func(name, address, client string) Lease {
		return Lease{Name: name, Address: netip.MustParseAddr(address), Client: client, Ends: ends}
	}
	laptop, phone := lease("laptop", "10.0.1.5", "aa"), lease("phone", "10.0.2.5", "bb")
	for n := range mostMoving - 1 {
		h.took(of, say(laptop, phone, lease("torn", "10.0.2.9", fmt.Sprint(n))), nil, errMoving, h.Now())
	}
	if h.has() != "laptop@10.0.1.5 tv@10.0.2.6" {
		t.Errorf("too soon: %q", h.has())
	}
	h.took(of, say(laptop, phone), nil, errMoving, h.Now())
	if h.has() != "laptop@10.0.1.5 phone@10.0.2.5 tv@10.0.2.6" || !strings.Contains(h.warnings(), "it changes while it is read: ") || of.due.IsZero() {
		t.Errorf("%q, %q, read again at %s", h.has(), h.warnings(), of.due)
	}
	h.Now = func() time.Time { return time.Now().Add(90 * time.Minute) }
	if h.expire(); h.has() != "laptop@10.0.1.5 phone@10.0.2.5" {
		t.Errorf("whose lease is over and who is not in the file has to go: %q", h.has())
	}
	h.took(of, say(phone), nil, nil, h.Now())
	h.took(of, say(phone), nil, nil, h.Now())
	if h.has() != "phone@10.0.2.5" || h.warnings() != "" {
		t.Errorf("read whole: %q, %q", h.has(), h.warnings())
	}
}

// Nobody waits for who reads a file.
func TestNobodyWaitsForAFile(t *testing.T) {
	t.Parallel()
	h := newHouse(t, home())
	put(t, h.path(), leases(200_000, func(a string) string { return "1796040000 02:00:00:00:00:01 " + a + " * *\n" }))
	reading, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		close(reading)
		h.look(h.sources[entryKey(home())], true, h.Now())
	}()
	<-reading
	for free := 0; ; {
		select {
		case <-over:
			if free < 100 {
				t.Errorf("the mutex was free %d times", free)
			}
			return
		default:
		}
		if h.Service.mutex.TryLock() {
			free++
			h.Service.mutex.Unlock()
		}
	}
}

// Leases that a clock which was ahead had ended are there again when it has been put right, though their file is as it was.
func TestClockThatGoesBack(t *testing.T) {
	t.Parallel()
	h := newHouse(t, home())
	h.write(false, "laptop@10.0.1.5 aa")
	of := h.sources[entryKey(home())]
	for _, ahead := range []time.Duration{0, 2 * time.Hour, 0} {
		h.Now = func() time.Time { return time.Now().Add(ahead).Round(0) }
		h.expire()
		h.lookAtAll()
		h.readDue()
		if want := map[bool]string{true: "laptop@10.0.1.5"}[ahead == 0]; h.has() != want {
			t.Errorf("%s ahead there is %q, want %q", ahead, h.has(), want)
		}
		if ahead > 0 && !of.due.IsZero() {
			t.Error("its file is read all the time")
		}
	}
}

// Addresses beyond the bound are left out, and no others.
func TestTooManyAddresses(t *testing.T) {
	c := read(t, settings.Kea, keaHead+leases(mostLeases+2, func(a string) string { return a + keaRest + "x,0,\n" })+"10.1.0.0"+keaRest+"last,0,\n")
	if len(c.leases) != mostLeases || c.bad != 2 || c.leases[0].Name != "last" || !strings.Contains(c.wrong.Error(), "more than 262144") {
		t.Errorf("%d leases, %d bad: %v", len(c.leases), c.bad, c.wrong)
	}
}

// Whoever puts something else in the place of a file that was looked at has nobody wait, or read it.
func TestFileIsAnotherByThen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "leases")
	put(t, path, "a 10.0.0.1\n")
	stamps, err := stampOf([]string{path})
	if err != nil {
		t.Fatal(err)
	}
	for about, c := range map[string]struct {
		put  func() error
		want string
	}{
		"nothing":      {func() error { return nil }, errMoving.Error()},
		"a pipe":       {func() error { return syscall.Mkfifo(path, 0o600) }, "no regular file"},
		"another file": {func() error { return os.WriteFile(path, nil, 0o600) }, errMoving.Error()},
	} {
		before := path + ".before"
		if err := errors.Join(os.Rename(path, before), c.put()); err != nil {
			t.Fatal(err)
		}
		if err := newReader(settings.Listed).file(stamps[0]); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", about, err)
		}
		if err := os.Rename(before, path); err != nil {
			t.Fatal(err)
		}
	}
}
