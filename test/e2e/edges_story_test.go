package e2e

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/lab/netns"
)

const (
	ruleOfB = `in: [{from: ["*.a.example"], to: ["*.b.example"]}]`
	noRule  = "in: []"
)

// answered is all that dig prints for a name that a host asks for.
func (d *daemon) answered(name string) string {
	d.t.Helper()
	out, _ := d.hostAt(0).Command(context.Background(), "dig", "+time=4", "+tries=1", "@"+d.gateway.PrivateAddress.String(), name).CombinedOutput()
	return string(out)
}

func (d *daemon) pacts() []api.Pact {
	d.t.Helper()
	return list[[]api.Pact](d, "pacts")
}

// fetch is whether a host gets the page of a name behind the other edge.
func (d *daemon) fetches(name string) error {
	d.t.Helper()
	got, err := curl(d.hostAt(0), d.ask(0, name), 80)
	if err == nil && got != strings.Repeat("x", 100) {
		err = fmt.Errorf("got %q", got)
	}
	return err
}

// Who may not is told why, and neither edge keeps anything of it.
func TestInboundDenied(t *testing.T) {
	t.Parallel()
	e := newEdges(t, netns.Options{Hosts: 1}, func(letter, c string) string {
		if letter == "b" {
			return strings.Replace(c, ruleOfB, noRule, 1)
		}
		return c
	})
	for range 2 {
		out := e.a.answered("www.host1.b.example")
		if !strings.Contains(out, "status: REFUSED") || !strings.Contains(out, "edge edge.b.example. refuses: policy") {
			t.Errorf("the host is told\n%s", out)
		}
	}
	if at, there := e.a.pacts(), e.b.pacts(); len(at)+len(there) > 0 {
		t.Errorf("pacts: %+v, %+v", at, there)
	}
}

// A reload that forbids has ended what it forbids when it returns, here and there.
func TestReloadForbidsPacts(t *testing.T) {
	t.Parallel()
	e := newEdges(t, netns.Options{Hosts: 1}, nil)
	e.nginx(e.b.hostAt(0))
	if err := e.a.fetches("www.host1.b.example"); err != nil {
		t.Fatal(err)
	}
	proxy := e.a.ask(0, "www.host1.b.example")
	e.b.write(strings.Replace(e.configurations["b"], ruleOfB, noRule, 1))
	if out, err := e.b.tell("reload"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if left := e.b.pacts(); len(left) > 0 {
		t.Errorf("left: %+v", left)
	}
	if got, err := curl(e.a.hostAt(0), proxy, 80); err == nil {
		t.Errorf("got %q", got)
	}
	eventually(t, 10*time.Second, "the other edge hears it", func() bool { return len(e.a.pacts()) == 0 })
}

// A clean stop leaves nothing behind, and the peer knows that its pacts are over.
func TestStopOfEdges(t *testing.T) {
	t.Parallel()
	e := newEdges(t, netns.Options{Hosts: 1}, nil)
	e.nginx(e.b.hostAt(0))
	if err := e.a.fetches("www.host1.b.example"); err != nil {
		t.Fatal(err)
	}
	e.a.stop()
	wantGone(t, e.a, e.before["a"])
	eventually(t, 10*time.Second, "the peer has no pact", func() bool { return len(e.b.pacts()) == 0 })
}

// Without the peer its names have no answer, unless it is to be as before; upstream is asked then, and not sooner.
func TestFallbackOfEdges(t *testing.T) {
	t.Parallel()
	e := newEdges(t, netns.Options{Hosts: 1, Resolver: true}, nil)
	e.resolver("  local-data: \"www.host1.b.example. 300 IN A 203.0.113.66\"\n")
	e.b.stop()
	out := e.a.answered("www.host1.b.example")
	if !strings.Contains(out, "status: SERVFAIL") || !strings.Contains(out, "EDE: 23") || strings.Contains(out, "203.0.113.66") {
		t.Errorf("without a fallback:\n%s", out)
	}
	e.a.write(strings.Replace(e.configurations["a"], "zones: [b.example]", "zones: [b.example], fallback: legacy", 1))
	if out, err := e.a.tell("reload"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if out := e.a.answered("www.host1.b.example"); !strings.Contains(out, "203.0.113.66") {
		t.Errorf("as before:\n%s", out)
	}
}

// remembers waits until a pact is on the disk, which is a tenth of a second behind.
func (d *daemon) remembers(p api.Pact) {
	d.t.Helper()
	eventually(d.t, 10*time.Second, "the pact is on the disk", func() bool {
		kept, err := os.ReadFile("/var/lib/realmgate/" + d.instance + ".db")
		return err == nil && bytes.Contains(kept, []byte("pact "+strings.TrimPrefix(p.Tag, "0x")))
	})
}

// Packets pass while a daemon is dead, and who comes back has the same pacts.
func TestKillOfEdges(t *testing.T) {
	t.Parallel()
	e := newEdges(t, netns.Options{Hosts: 1}, nil)
	e.nginx(e.b.hostAt(0))
	if err := e.a.fetches("www.host1.b.example"); err != nil {
		t.Fatal(err)
	}
	proxy := e.a.ask(0, "www.host1.b.example")
	at, there := e.a.pacts(), e.b.pacts()
	e.a.remembers(at[0])
	e.b.remembers(there[0])
	for _, dead := range []*daemon{e.a, e.b} {
		dead.kill()
		if _, err := curl(e.a.hostAt(0), proxy, 80); err != nil {
			t.Errorf("while %s is dead: %v", dead.instance, err)
		}
		dead.run()
		eventually(t, 20*time.Second, "the link is up", func() bool {
			return list[[]api.Edge](dead, "edges")[0].State == "up"
		})
		if again := e.a.ask(0, "www.host1.b.example"); again != proxy {
			t.Errorf("after the start of %s: %s, before %s", dead.instance, again, proxy)
		}
		if _, err := curl(e.a.hostAt(0), proxy, 80); err != nil {
			t.Errorf("after the start of %s: %v", dead.instance, err)
		}
	}
	for _, each := range []struct {
		d      *daemon
		before []api.Pact
	}{{e.a, at}, {e.b, there}} {
		if now := each.d.pacts(); len(now) != 1 || now[0].Tag != each.before[0].Tag || now[0].Proxy != each.before[0].Proxy {
			t.Errorf("%s: before %+v, now %+v", each.d.instance, each.before, now)
		}
	}
}
