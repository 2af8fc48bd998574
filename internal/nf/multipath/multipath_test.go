package multipath

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/cilium/ebpf"

	"github.com/realmgate/realmgate/internal/nf"
	"github.com/realmgate/realmgate/internal/nf/nftest"
)

// balanced puts a section into force, number 1, and returns the program that its packets meet, with its paths.
func balanced(t *testing.T, section string) (*nftest.Bed, *ebpf.Program, *Paths) {
	t.Helper()
	settings, err := nftest.Read(t, Kind, section)
	if err != nil {
		t.Fatal(err)
	}
	b := nftest.New(t)
	paths := NewPaths(settings.(Settings).Backends)
	t.Cleanup(paths.Close)
	return b, b.Only(settings.Function("it", nftest.Names{"it": paths})), paths
}

// flow is one of many.
func flow(protocol string, n int) nf.Packet {
	return nftest.Packet(fmt.Sprintf("in %s 203.0.113.%d:%d > 198.18.0.2:8000", protocol, 1+n%200, 1000+n))
}

// targets are where flows go, by their numbers; the next function decides.
func targets(b *nftest.Bed, program *ebpf.Program, flows int) (list []netip.AddrPort) {
	b.T.Helper()
	for n := range flows {
		for dry := range uint8(2) {
			p := flow("tcp", n)
			p.Dry = dry
			said := b.Ask(program, p)
			if want := (nftest.Said{Verdict: nf.Accept, To: said.To}); said != want || !said.To.IsValid() {
				b.T.Fatalf("flow %d, dry %d: %+v, want %+v", n, dry, said, want)
			}
			if dry == 1 && said.To != list[n] {
				b.T.Fatalf("flow %d goes to %s, and a dry packet to %s", n, list[n], said.To)
			}
			if dry == 0 {
				list = append(list, said.To)
			}
		}
	}
	return list
}

func set(t *testing.T, paths *Paths, place int, up bool) {
	t.Helper()
	if err := paths.Set(place, up); err != nil {
		t.Fatal(err)
	}
}

// Flows go to the backends by their weights. Where one is down only its flows go elsewhere, and come back with it; where all are, flows
// are dropped. Programs of another generation, and those that only look, send them to the same.
func TestSpreadsFlows(t *testing.T) {
	t.Parallel()
	const flows, section = 400, "{backends: [{to: 10.0.0.1, port: 80}, {to: 10.0.0.2, port: 8080, weight: 3}]}"
	b, program, paths := balanced(t, section)
	one, other := netip.MustParseAddrPort("10.0.0.1:80"), netip.MustParseAddrPort("10.0.0.2:8080")
	before, counts := targets(b, program, flows), map[netip.AddrPort]int{}
	for _, to := range before {
		counts[to]++
	}
	// Six deviations of 8.7, and as much as chance does to the slots: one in a billion.
	if n := counts[other]; n < flows*3/4-60 || n > flows*3/4+60 || counts[one]+n != flows {
		t.Errorf("of %d flows: %v", flows, counts)
	}
	same := func(what string, program *ebpf.Program, on *nftest.Bed) {
		t.Helper()
		for n, to := range targets(on, program, flows) {
			if to != before[n] {
				t.Fatalf("%s: flow %d goes to %s, before to %s", what, n, to, before[n])
			}
		}
	}
	looking := b.Looking()
	same("who looks", looking.Made.XDP.Classifier, looking)
	set(t, paths, 1, false)
	for n, to := range targets(b, program, flows) {
		if to != one {
			t.Fatalf("flow %d goes to %s, which is down", n, to)
		}
	}
	set(t, paths, 0, false)
	if got, want := b.Ask(program, flow("tcp", 0)), (nftest.Said{Verdict: nf.Drop, Function: 1}); got != want {
		t.Errorf("all are down: %+v, want %+v", got, want)
	}
	set(t, paths, 1, true)
	for n, to := range targets(b, program, flows) {
		if to != other {
			t.Fatalf("flow %d goes to %s, which is down", n, to)
		}
	}
	set(t, paths, 0, true)
	same("all are up again", program, b)
	same("another generation", b.Only(Multipath{Paths: paths}), b)
	if n := b.Count(1); n.Failed != 0 {
		t.Errorf("%d failures", n.Failed)
	}
}

// As many backends as there may be all get flows, to their port or to the flow's own; ICMP has none.
func TestSendsToEachBackend(t *testing.T) {
	t.Parallel()
	const flows = 4000 // one of 64 gets none of these once in 10^25 times
	var section strings.Builder
	for n := range MostBackends {
		fmt.Fprintf(&section, "{to: 10.0.1.%d", 1+n)
		if n%2 == 0 {
			fmt.Fprintf(&section, ", port: %d", 8000+n)
		}
		section.WriteString("}, ")
	}
	b, program, _ := balanced(t, "{backends: ["+section.String()+"]}")
	for _, protocol := range []string{"tcp", "udp", "icmp"} {
		reached := map[netip.AddrPort]bool{}
		for n := range flows {
			reached[b.Ask(program, flow(protocol, n)).To] = true
		}
		if len(reached) != MostBackends {
			t.Errorf("%s: %d backends of %d are reached", protocol, len(reached), MostBackends)
		}
		for to := range reached {
			n, want := int(to.Addr().As4()[3])-1, 0
			if n%2 == 0 && protocol != "icmp" {
				want = 8000 + n
			}
			if int(to.Port()) != want {
				t.Errorf("%s: to %s, want port %d", protocol, to, want)
			}
		}
	}
}

// An open flow stays with its backend while that is one of the function's, be it down; else it is a flow as any other, which go nowhere here.
func TestOpenFlowsStay(t *testing.T) {
	t.Parallel()
	b, program, paths := balanced(t, "{backends: [{to: 10.0.0.1, port: 80}, {to: 10.0.0.2}]}")
	set(t, paths, 0, false)
	set(t, paths, 1, false)
	for _, c := range []struct {
		protocol, at string
		stays        bool
	}{
		{"tcp", "10.0.0.1:80", true},
		{"udp", "10.0.0.1:80", true},
		{"tcp", "10.0.0.1:8000", false},
		{"icmp", "10.0.0.1:8000", true}, // whose identifier is not changed
		{"icmp", "10.0.0.1:80", false},
		{"tcp", "10.0.0.2:8000", true},
		{"tcp", "10.0.0.2:80", false},
		{"tcp", "10.0.0.3:80", false},
	} {
		p, at := flow(c.protocol, 0), nftest.Packet("in tcp "+c.at+" > 0.0.0.0:0")
		p.AtAddress, p.AtPort = at.Source, at.SourcePort
		want := nftest.Said{Verdict: nf.Drop, Function: 1}
		if c.stays {
			want = nftest.Said{Verdict: nf.Accept, To: netip.MustParseAddrPort(c.at)}
		}
		if got := b.Ask(program, p); got != want {
			t.Errorf("%s at %s: %+v, want %+v", c.protocol, c.at, got, want)
		}
	}
}

// What a section may not say of checks; what contradicts itself, and backends, the configuration has a file of.
func TestBadSections(t *testing.T) {
	t.Parallel()
	words := map[string]string{}
	for check, want := range map[string]string{
		"{http: health}": "want a path as /health",
		`{http: "/a b"}`: "want a path as /health",
		`{http: "/a#b"}`: "want a path as /health",
		`{http: "/%2"}`:  "a % is followed by two hexadecimal digits",
		`{http: "/%zz"}`: "a % is followed by two hexadecimal digits",
		"{http: /" + strings.Repeat("a", 1024) + "}": "it is longer than 1024 bytes",
		"{port: 0}":                    "want a port of 1 to 65535",
		"{every: 99ms, timeout: 10ms}": "want a duration of 100ms to 3600s",
		"{timeout: 9ms}":               "want a duration of 10ms to 60s",
		"{every: 120s, timeout: 61s}":  "want a duration of 10ms to 60s",
		"{fall: 0}":                    "want a whole number of 1 to 100",
		"{rise: 101}":                  "want a whole number of 1 to 100",
	} {
		words["{backends: [{to: 10.0.0.1, port: 80}], check: "+check+"}"] = want
	}
	nftest.Refuses(t, Kind, words)
}
