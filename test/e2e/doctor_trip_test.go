package e2e

import (
	"context"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/realmgate/realmgate/internal/doctor"
)

// travels has the doctor take a name of a gateway that runs.
func (w *ward) travels(name string) {
	w.runs()
	w.asked = []string{"--round-trip", name}
}

// check is a result of a report, also one that another explains.
func check(r doctor.Report, name string) (found doctor.Result) {
	for _, c := range r.Checks {
		for _, e := range append([]doctor.Result{c}, c.Explains...) {
			if e.Check == name {
				found = e
			}
		}
	}
	return found
}

// A name that is taken from outside leads to its host and back, wherever the programs are, and nothing of that is left.
func TestDoctorRoundTrip(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(*ward){
		"at tcx":     func(*ward) {},
		"in drivers": (*ward).xdp,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWard(t)
			w.serve(t, *w.Resolver)
			w.webServers()
			prepare(w)
			w.travels("www.host1.foo.example")
			before := w.gatewayHas()
			report, code := w.examine()
			trip := check(report, "round trip")
			if code != 0 || !strings.Contains(trip.Says, "to "+w.Hosts()[0].IP.String()+":8080 and back within") {
				t.Errorf("exit %d, %+v", code, trip)
			}
			if after := w.gatewayHas(); after != before {
				t.Errorf("before:\n%s\nafter:\n%s", before, after)
			}
			if out, err := w.d.tell("sessions", "-o", "json"); err != nil || strings.Contains(out, "192.0.2.") {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
}

// gatewayHas are its interfaces, addresses and routes.
func (w *ward) gatewayHas() string {
	w.t.Helper()
	out, err := w.Gateway.Command(context.Background(), "sh", "-c", "ip -o link show; ip -o -4 address show; ip route show table all").Output()
	if err != nil {
		w.t.Fatal(err)
	}
	return string(out)
}

// The round trip says where it broke.
func TestDoctorRoundTripBreaks(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]fault{
		"nobody listens": {makes: func(w *ward) { w.travels("www.host1.foo.example.") },
			check: "round trip", code: 2, what: "nobody listens at TCP port 8080", remedy: "ss -ltn"},
		"a host that is off": {makes: func(w *ward) {
			w.travels("www.host1.foo.example")
			w.command("host1", "ip", "link", "set", "eth0", "down")
		}, check: "round trip", code: 2, what: "10.0.0.100 does not answer ARP", remedy: "ip neighbour show 10.0.0.100"},
		"a host without a way back": {makes: func(w *ward) {
			w.travels("www.host1.foo.example")
			w.webServers()
			w.command("host1", "ip", "route", "del", "default")
		}, check: "round trip", code: 2, what: "packets go to 10.0.0.100:8080, and none comes back", remedy: "ip route get 192.0.2.254, on the host"},
		"a function that drops": {makes: func(w *ward) {
			w.configuration = with(w.configuration, "chains: [{name: www, match: {service: www.host1.foo.example.}, functions: [{use: filter, deny: [192.0.2.0/24]}]}]")
			w.webServers()
			w.travels("www.host1.foo.example")
		}, check: "round trip", code: 2, what: "and the gateway drops what goes there: drop_", remedy: "realmgate explain 192.0.2.254 --to www.host1.foo.example"},
		"no address that is free": {makes: func(w *ward) {
			w.configuration = with(w.configuration, "pool: {addresses: [198.18.0.32]}") + hostEntry(1, netip.MustParseAddr("10.0.0.101"))
			w.webServers()
			w.travels("www.host1.foo.example")
			w.mustLend(w.Clients[0], "www.host2.foo.example.")
		}, check: "round trip", code: 2, what: "lends no address for www.host1.foo.example: it says SERVFAIL", remedy: "realmgate status, realmgate pool"},
		"a name that nobody has": {makes: func(w *ward) { w.travels("nobody.foo.example") },
			check: "round trip", code: 2, what: "nobody.foo.example is the name of no service", remedy: "realmgate hosts"},
		"a port of UDP": {makes: func(w *ward) { w.travels("echo.host1.foo.example") },
			check: "round trip", code: 1, what: "opens no port of TCP", remedy: "--round-trip NAME"},
		"no gateway": {makes: func(w *ward) { w.asked = []string{"--round-trip", "www.host1.foo.example"} },
			check: "round trip", code: 1, what: "was not taken: ", remedy: "while the gateway runs"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWard(t)
			f.makes(w)
			w.serve(t, *w.Resolver)
			report, code := w.examine()
			c := check(report, f.check)
			if code != f.code || len(c.Faults) != 1 || !strings.Contains(c.Faults[0].What, f.what) || !strings.Contains(c.Faults[0].Remedy, f.remedy) {
				t.Fatalf("exit %d, want %d and %s → %s of\n%+v", code, f.code, f.what, f.remedy, report.Checks)
			}
			if at := slices.IndexFunc(report.Checks, func(o doctor.Result) bool { return o.Check != f.check && o.State != doctor.Good }); at >= 0 {
				t.Errorf("%+v is wrong, too", report.Checks[at])
			}
			if out, err := w.Gateway.Command(context.Background(), "ip", "-o", "link", "show", "type", "veth").Output(); err != nil || strings.Contains(string(out), "rgdr") {
				t.Errorf("%v: it has left\n%s", err, out)
			}
		})
	}
}

// Whether the router outside leads the pool here is said only where it is known.
func TestDoctorPoolWay(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		prepare func(*ward)
		says    string
	}{
		"at tcx":     {(*ward).runs, "the router outside leads 198.18.0.32 here"},
		"in drivers": {func(w *ward) { w.xdp(); w.runs() }, "the router outside leads 198.18.0.32 here"},
		"a router that says nothing": {func(w *ward) {
			w.runs()
			w.command("router", "ip", "route", "add", "blackhole", w.Gateway.Pool.String())
		}, "whether 198.18.0.32 leads here, only somebody outside can tell"},
		"no gateway, and so no ARP": {func(*ward) {}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWard(t)
			w.serve(t, *w.Resolver)
			c.prepare(w)
			report, code := w.examine()
			got := check(report, "pool")
			if code != 0 || !strings.Contains(got.Says, c.says) || c.says == "" && got.Check != "" {
				t.Errorf("exit %d, %+v", code, got)
			}
		})
	}
}
