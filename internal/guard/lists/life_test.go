package lists

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

const (
	hour     = time.Hour
	mostSent = 1 << 20 // bytes, for the tests' Fetcher
)

// A busy machine may be slow; nothing here waits for these but what is said to.
var (
	patient    = Limits{Timeout: 5 * time.Minute, Stall: 5 * time.Minute, Bytes: mostSent}
	stallSoon  = Limits{Timeout: 5 * time.Minute, Stall: 50 * time.Millisecond, Bytes: mostSent}
	endSoon    = Limits{Timeout: 100 * time.Millisecond, Stall: 5 * time.Minute, Bytes: mostSent}
	clockStart = time.Unix(1_800_000_000, 0)
)

func middling() float64 { return 0.5 }

func newFeed(t *testing.T, source string, store *Store) *Feed {
	t.Helper()
	f, err := NewFeed("bad", source, 0, hour, middling, NewFetcher("realmgate-test", patient), store)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestProtectionRule10_LifeOfAList is what a daemon does with a feed, for as long as it lives: it waits
// until Next, refreshes, and brings List into force where that has changed. Whatever the
// server does, a good copy is in force and on the disk.
func TestProtectionRule10_LifeOfAList(t *testing.T) {
	p := newPublisher(t)
	store, err := OpenStore(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	f := newFeed(t, p.URL+"/list.txt", store)
	now := clockStart

	for _, step := range []struct {
		name    string
		does    http.HandlerFunc
		limits  Limits // none: patient
		entries int    // in force afterwards; 0: as before
		err     error  // what it is
		says    string // what it has; neither: there is no error
	}{
		{name: "404 before there is a copy", does: status(404), says: "404 Not Found"},
		{name: "the first copy", does: says(text(100), "ETag", `"1"`), entries: 100},
		{name: "304", does: asksFor(`"1"`, "not asked with the ETag")},
		{name: "the same once more, by a server without ETags", does: says(text(100))},
		{name: "changed", does: says(text(120), "ETag", `"2"`), entries: 120},

		{name: "slow: no answer", does: stalls(""), limits: stallSoon, err: ErrTimeout, says: "nothing came for 50ms"},
		{name: "slow: it stops in the middle", does: stalls(text(60)), limits: stallSoon, err: ErrTimeout, says: "nothing came for 50ms"},
		{name: "slow: a bit now and then", does: sends("203.0.113.7\n", time.Millisecond), limits: endSoon, err: ErrTimeout, says: "more than 100ms"},
		{name: "endless", does: sends(text(1000), 0), err: ErrTooLarge},
		{name: "endless header", does: raw("HTTP/1.1 200 OK\r\nX: "+strings.Repeat("x", 1<<20), false), says: "headers exceeded"},
		{name: "said to be large", does: raw("HTTP/1.1 200 OK\r\nContent-Length: 9999999999\r\n\r\n", false), err: ErrTooLarge},
		{name: "truncated", does: raw("HTTP/1.1 200 OK\r\nContent-Length: 2000\r\n\r\n"+text(60), false), err: ErrTruncated},
		{name: "truncated chunks", does: raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nc\r\n203.0.113.7\n\r\n", false), err: ErrTruncated},
		{name: "of no known length", does: raw("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"+text(110), false), err: ErrTruncated},
		{name: "connection reset", does: raw("HTTP/1.1 200 OK\r\nContent-Length: 2000\r\n\r\n"+text(60), true), says: "reset"},
		{name: "connection closed", does: raw("", false), says: "EOF"},
		{name: "HTML", does: says("<html>203.0.113.7", "Content-Type", "text/html; charset=utf-8"), err: ErrNoList, says: "HTML page"},
		{name: "HTML that is said to be text", does: says("<html>203.0.113.7"), err: ErrNoList, says: "HTML"},
		{name: "HTML that is said to be a list", does: says(text(110), "Content-Type", "Text/HTML"), err: ErrNoList},
		{name: "JSON", does: says(`{"error": "quota"}`), err: ErrNoList, says: "JSON"},
		{name: "404", does: status(404), says: "404 Not Found"},
		{name: "500", does: status(500), says: "500 Internal Server Error"},
		{name: "204", does: status(204), says: "204 No Content"},
		{name: "another compression", does: says("x", "Content-Encoding", "br"), says: `compresses with "br"`},
		{name: "gzip bomb", does: says(zipped(strings.Repeat("203.0.113.7\n", 100_000)), "Content-Encoding", "gzip"), err: ErrTooLarge},
		{name: "gzip bomb in a gzip file", does: says(zipped(zipped(strings.Repeat("\n", 4<<20)))), err: ErrTooLarge},
		{name: "gzip in gzip in gzip", does: says(zipped(zipped(zipped(text(110))))), err: ErrNoList, says: "compressed"},
		{name: "truncated gzip", does: says(zipped(text(110))[:90]), err: ErrTruncated},
		{name: "damaged gzip", does: says(zipped(text(110)) + "no such member of gzip"), says: "decompress the list: gzip: invalid header"},
		{name: "redirect loop", does: redirects("/list.txt"), err: ErrRedirect, says: "more than 5"},
		{name: "redirect to a file", does: redirects("file:///etc/passwd"), err: ErrRedirect, says: "to an address with file"},
		{name: "empty", does: says(""), err: ErrEmpty},
		{name: "comments only", does: says("# nothing today\n"), err: ErrEmpty},
		{name: "wrong lines", does: says(feed(100, 6)), err: ErrTooFaulty, says: "6 of 106"},
		{name: "all of the Internet", does: says(text(110) + "0.0.0.0/0\n"), err: ErrTooWide},
		{name: "304 after all that", does: asksFor(`"2"`, "not asked with the ETag of the last good copy")},

		{name: "gzip on the way", does: says(zipped(text(130)), "Content-Encoding", "gzip"), entries: 130},
		{name: "a gzip file", does: says(zipped(text(140)), "Content-Type", "application/gzip"), entries: 140},
		{name: "a gzip file, gzip on the way", does: says(zipped(zipped(text(150))), "Content-Encoding", "gzip"), entries: 150},
		{name: "a few wrong lines", does: says(feed(160, 5)), entries: 160},

		{name: "shrunk", does: says(text(79), "ETag", `"3"`), err: ErrShrunk, says: "79 entries, there were 160"},
		{name: "shrunk by less", does: says(text(80)), entries: 80},
		{name: "grown again", does: says(text(160), "ETag", `"4"`), entries: 160},
		{name: "shrunk for good: first", does: asksFor(`"5"`, text(30)), err: ErrShrunk, says: "1 of 3"},
		{name: "shrunk for good: second", does: asksFor(`"5"`, text(30)), err: ErrShrunk, says: "2 of 3"},
		{name: "shrunk for good: 404 in between", does: status(404), says: "404 Not Found"},
		{name: "shrunk for good: third", does: asksFor(`"5"`, text(30)), entries: 30},
	} {
		passed := t.Run(step.name, func(t *testing.T) {
			p.does(step.does)
			f.fetcher = NewFetcher("realmgate-test", patient)
			if step.limits != (Limits{}) {
				f.fetcher = NewFetcher("realmgate-test", step.limits)
			}
			before := f.List()
			if next := f.Next(); next.After(now) {
				now = next
			}
			changed, err := f.Refresh(t.Context(), func() time.Time { return now })

			wantError := step.err != nil || step.says != ""
			if (err != nil) != wantError || step.err != nil && !errors.Is(err, step.err) || wantError && !strings.Contains(err.Error(), step.says) {
				t.Fatalf("error %v, want %v %s", err, step.err, step.says)
			}
			if changed != (step.entries > 0) || (f.List() != before) != changed {
				t.Fatalf("changed %v, list %p and before %p", changed, f.List(), before)
			}
			if changed && f.List().Entries != step.entries {
				t.Fatalf("%d entries in force, want %d", f.List().Entries, step.entries)
			}
			checkDisk(t, f)
			s := f.Status(now)
			if (s.Error != "") != wantError || s.Next != f.Next() {
				t.Errorf("status %+v", s)
			}
			if errors.Is(step.err, ErrShrunk) && (s.Failures > 0 || s.Next.Sub(now) != hour) {
				t.Errorf("a copy that is refused is asked for again too soon: %+v", s)
			}
			if wait := s.Next.Sub(now); wait <= 0 || wait > hour {
				t.Errorf("the next attempt in %v", wait)
			}
		})
		if !passed {
			return // the steps build on each other
		}
	}

	t.Run("a short one that the user wants", func(t *testing.T) {
		p.does(says(text(2)))
		if changed, err := f.Refresh(t.Context(), func() time.Time { return now }); changed || !errors.Is(err, ErrShrunk) {
			t.Fatalf("%v, %v", changed, err)
		}
		f.Force(now)
		if !f.Next().Equal(now) {
			t.Errorf("forced at %v, and next at %v", now, f.Next())
		}
		if changed, err := f.Refresh(t.Context(), func() time.Time { return now }); !changed || err != nil || f.List().Entries != 2 {
			t.Fatalf("%v, %v, %+v", changed, err, f.List())
		}
	})
	t.Run("the daemon is to stop", func(t *testing.T) {
		p.does(stalls(""))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if changed, err := f.Refresh(ctx, time.Now); changed || !errors.Is(err, context.Canceled) || f.Status(now).Error != "" {
			t.Errorf("%v, %v, %+v", changed, err, f.Status(now))
		}
	})
	t.Run("a start, and nothing new", func(t *testing.T) {
		p.does(says(text(2)))
		again := newFeed(t, p.URL+"/list.txt", store)
		if err := again.Restore(now); err != nil {
			t.Fatal(err)
		}
		if changed, err := again.Refresh(t.Context(), func() time.Time { return now }); changed || err != nil {
			t.Errorf("%v, %v", changed, err)
		}
	})
	t.Run("a start without network", func(t *testing.T) {
		p.CloseClientConnections()
		p.Close()
		again := newFeed(t, p.URL+"/list.txt", store)
		if err := again.Restore(now.Add(24 * hour)); err != nil || again.List() == nil || again.List().Entries != 2 {
			t.Fatalf("%v, %+v", err, again.List())
		}
		if changed, err := again.Refresh(t.Context(), func() time.Time { return now.Add(24 * hour) }); changed || err == nil {
			t.Errorf("%v, %v", changed, err)
		}
		if s := again.Status(now.Add(24 * hour)); s.Entries != 2 || s.Age != 24*hour || s.Failures != 1 || s.Error == "" || !s.Fetched.Equal(now) {
			t.Errorf("%+v", s)
		}
	})
}

// checkDisk checks that a daemon that starts now enforces what is in force.
func checkDisk(t *testing.T, f *Feed) {
	t.Helper()
	again := newFeed(t, f.source, f.store)
	if err := again.Restore(clockStart); err != nil {
		t.Fatal(err)
	}
	if f.List() == nil {
		if again.List() != nil {
			t.Fatal("a list on the disk that never was in force")
		}
		return
	}
	if got, want := fmt.Sprint(again.List().Addresses), fmt.Sprint(f.List().Addresses); got != want {
		t.Fatalf("on the disk %s, in force %s", got, want)
	}
}

// The control socket asks for the status while a server keeps a refresh waiting, and the
// data plane is built of the list meanwhile.
func TestAFeedAnswersWhileItWaitsForTheServer(t *testing.T) {
	p := newPublisher(t)
	f := newFeed(t, p.URL, newStore(t))
	asked, release := make(chan bool), make(chan bool)
	p.does(func(w http.ResponseWriter, r *http.Request) {
		asked <- true
		<-release
		says(text(30))(w, r)
	})
	done := make(chan error)
	go func() {
		_, err := f.Refresh(context.Background(), now)
		done <- err
	}()
	<-asked
	if s := f.Status(clockStart); s.Entries != 0 || f.List() != nil || !f.Next().IsZero() {
		t.Errorf("%+v", s)
	}
	f.Force(clockStart)
	close(release)
	if err := <-done; err != nil || f.List() == nil {
		t.Errorf("%v, %v in force", err, f.List())
	}
}
