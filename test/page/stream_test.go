package page

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

const banEvent = `{"time":"2026-11-30T10:00:00Z","kind":"ban","sequence":%d,"prefixes":["203.0.113.7/32"],"reason":"%s"}`

// Many bans do not have the page ask for all of them each time, nor for twice at a time where the answer takes long.
func TestManyBans(t *testing.T) {
	t.Parallel()
	f := still(t)
	var asked, now, atOnce atomic.Int64
	f.first = func(_ http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/v1/bans" {
			asked.Add(1)
			atOnce.Store(max(atOnce.Load(), now.Add(1)))
			defer now.Add(-1)
			select {
			case <-r.Context().Done():
			case <-time.After(2500 * time.Millisecond): // as many of them take
			}
		}
		return false
	}
	var told atomic.Int64
	f.stream = func(ctx context.Context, tell func(topic, data string)) {
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for ctx.Err() == nil {
			tell("bans", fmt.Sprintf(banEvent, told.Add(1), "many"))
			tell("status", f.answers["/v1/status"])
			<-tick.C
		}
	}
	b, at := f.serve(t)
	b.shows("#event-list", "many")
	b.until("the status has how many there are", `[...document.querySelectorAll("#figure-list div")].some((d) => d.innerText.replace(/\s+/g, " ") === "Bans 7")`)
	if n := asked.Load(); n > 0 {
		t.Errorf("the first screen asks for all bans, %d times", n)
	}
	b.open(at + "/protection")
	before := told.Load()
	eventually(t, time.Minute, "bans are told", func() bool { return asked.Load() >= 4 })
	if n := told.Load() - before; n < 40 || atOnce.Load() > 2 { // the server asks for the first screen, too
		t.Errorf("%d bans were told, and all were asked for %d times, %d at a time", n, asked.Load(), atOnce.Load())
	}
}

// After a restart, whose events are numbered from 1, the first screen shows what is new.
func TestEventsBeginAnew(t *testing.T) {
	t.Parallel()
	f := still(t)
	var mutex sync.Mutex
	var runs []context.CancelFunc
	f.first = func(w http.ResponseWriter, r *http.Request) bool {
		mutex.Lock()
		defer mutex.Unlock()
		switch {
		case r.URL.Path == "/v1/events/last" && len(runs) > 1:
			_, _ = io.WriteString(w, `{"items":[`+fmt.Sprintf(banEvent, 1, "after")+`]}`)
		case r.URL.Path == "/v1/events/last":
			_, _ = io.WriteString(w, `{"items":[`)
			for n := 40; n > 30; n-- {
				_, _ = fmt.Fprintf(w, banEvent+",", n, "before")
			}
			_, _ = io.WriteString(w, fmt.Sprintf(banEvent, 30, "before")+`]}`)
		default:
			return false
		}
		return true
	}
	ends := make(chan bool, 1)
	f.stream = func(ctx context.Context, tell func(topic, data string)) {
		_, cancel := context.WithCancel(ctx)
		mutex.Lock()
		runs = append(runs, cancel)
		first := len(runs) == 1
		mutex.Unlock()
		defer cancel()
		tell("status", f.answers["/v1/status"])
		if !first {
			return
		}
		select {
		case <-ctx.Done():
		case <-ends:
			panic(http.ErrAbortHandler) // as a gateway that is killed
		}
	}
	b, _ := f.serve(t)
	b.shows("#event-list", "before")
	ends <- true
	b.shows("#event-list", "after")
}

// Who is refused the stream is told why.
func TestStreamIsRefused(t *testing.T) {
	t.Parallel()
	f := still(t)
	f.stream = func(context.Context, func(topic, data string)) {}
	f.first = func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path != "/v1/stream" {
			return false
		}
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, `{"status":503,"detail":"user 0 listens 8 times already","remedy":"close a page"}`)
		return true
	}
	b, _ := f.serve(t)
	b.shows("#said", "user 0 listens 8 times already: close a page")
}
