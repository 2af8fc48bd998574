package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/lab/netns"
)

// message is one of a stream.
type message struct{ id, event, data string }

// streaming is a stream that somebody reads.
type streaming struct {
	t     *testing.T
	lines *bufio.Reader
	close func()
}

func (c caller) stream(topics, last string) *streaming {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), time.Minute)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://realmgate/v1/stream?topics="+topics, http.NoBody)
	if err != nil {
		c.t.Fatal(err)
	}
	request.Header.Set("Last-Event-ID", last)
	response, err := c.http.Do(request)
	if err != nil || response.StatusCode != http.StatusOK {
		c.t.Fatalf("%+v, %v", response, err)
	}
	end := func() {
		cancel()
		_ = response.Body.Close()
	}
	c.t.Cleanup(end)
	return &streaming{c.t, bufio.NewReader(response.Body), end}
}

// next is the next message.
func (s *streaming) next() (m message) {
	s.t.Helper()
	for {
		line, err := s.lines.ReadString('\n')
		if err != nil {
			s.t.Fatal(err)
		}
		key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch key {
		case "id":
			m.id = value
		case "event":
			m.event = value
		case "data":
			m.data = value
		case "":
			if m.event != "" {
				return m
			}
		}
	}
}

// Who listens hears bans and drops as they happen; who was away hears what came meanwhile, and after a restart that it is not
// known.
func TestStream(t *testing.T) {
	t.Parallel()
	r := newRealm(t, netns.Options{Hosts: 1, Clients: 1})
	d := r.start(r.configuration())
	c := d.caller()
	ban := func(address string) {
		t.Helper()
		if out, err := d.tell("ban", "add", address); err != nil {
			t.Fatal(out)
		}
	}
	wants := func(s *streaming, address string) message {
		t.Helper()
		m := s.next()
		if m.event != "bans" || m.id == "" || !strings.Contains(m.data, `"prefixes":["`+address+`/32"]`) {
			t.Fatalf("%+v is not the ban of %s", m, address)
		}
		return m
	}
	all := c.stream("bans,drops", "")
	ban("203.0.113.7")
	first := wants(all, "203.0.113.7")
	outside := r.Clients[0]
	connection, err := outside.DialContext(t.Context(), "udp4", netip.AddrPortFrom(r.Gateway.Pool.Addr(), 9).String())
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	if _, err := fmt.Fprint(connection, "x"); err != nil {
		t.Fatal(err)
	}
	dropped := all.next()
	var drop struct {
		Reason string
		Tuple  struct{ Source string }
	}
	if err := json.Unmarshal([]byte(dropped.data), &drop); err != nil || dropped.event != "drops" || !strings.HasPrefix(drop.Tuple.Source, outside.IP.String()+":") {
		t.Errorf("%v: %+v is not the packet that was dropped", err, dropped)
	}
	all.close()

	ban("203.0.113.8")
	ban("203.0.113.9")
	again := c.stream("bans", first.id)
	wants(again, "203.0.113.8")
	last := wants(again, "203.0.113.9")
	status := c.stream("status", "").next()
	var now struct{ Generation uint32 }
	if err := json.Unmarshal([]byte(status.data), &now); err != nil || status.event != "status" || now.Generation != d.status().Generation {
		t.Errorf("%v: %+v", err, status)
	}

	d.kill()
	if _, err := io.ReadAll(again.lines); err == nil {
		t.Error("the stream of a daemon that was killed ended as if it were whole")
	}
	d.run()
	if m := c.stream("bans", last.id).next(); m.event != "reset" {
		t.Errorf("after a restart: %+v", m)
	}
}
