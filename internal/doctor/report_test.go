package doctor

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"
)

// well are the facts of a good machine, on which a gateway runs.
func well() *Facts {
	now := time.Date(2026, 11, 30, 10, 0, 0, 0, time.UTC)
	server := netip.MustParseAddrPort("192.0.2.53:53")
	return &Facts{
		Now: now, Configuration: Configuration{File: "/etc/realmgate.yaml"}, Kernel: Kernel{Release: "6.18.44-fc", BPFFS: true, Lockdown: "none"},
		Interfaces: []Interface{
			{Name: "eth0", Side: "public", Driver: "veth", MTU: 1500, XDP: true, Known: true, Native: true, Redirects: true, StripsVLAN: true, Forwards: true, ReversePath: 2, Mode: "xdp"},
			{Name: "eth1", Side: "private", Driver: "veth", MTU: 1500, Forwards: true, ReversePath: 2, Mode: "tcx"},
		},
		Routes:   Routes{Looked: true, Default: true, By: "eth0", Public: true},
		Upstream: []Server{{Address: server}},
		Delegations: []Delegation{{Zone: "foo.example.", Parent: "ns.example.", Servers: []string{"NS.foo.example."}, Wanted: "ns.foo.example.",
			Leads: []netip.Addr{netip.MustParseAddr("198.18.0.1")}, To: netip.MustParseAddr("198.18.0.1")}},
		Pool:      []PoolWay{{Address: netip.MustParseAddr("198.18.0.32"), Here: true}, {Address: netip.MustParseAddr("198.18.7.0")}},
		RoundTrip: RoundTrip{Name: "www.foo.example.", Lent: netip.MustParseAddrPort("198.18.0.32:80"), Host: netip.MustParseAddrPort("10.0.0.100:8080"), Took: 8 * time.Millisecond},
		Clock:     Clock{Looked: true, Synchronised: true}, Memory: Memory{Needed: 10 << 20, Available: 100 << 20, Capacity: 100_000},
		Disk: Disk{Folder: "/var/lib/realmgate", Free: 1 << 30, Inodes: true}, Certificate: Certificate{File: "/etc/a.crt", Ends: now.AddDate(0, 2, 0)},
		Gateway: Gateway{Socket: "/run/realmgate/default.sock", PID: 812, Answers: true, AtWork: true, Lists: []List{{Name: "drop", Fetched: now}}},
	}
}

func TestAllIsWell(t *testing.T) {
	t.Parallel()
	r := Examine(well())
	for _, c := range r.Checks {
		if c.State != Good || c.Says == "" {
			t.Errorf("%+v", c)
		}
	}
	if r.State != Good || len(r.Checks) != 27 {
		t.Errorf("%s after %d checks", r.State, len(r.Checks))
	}
}

// What was not looked at is not told of, and not all of it is well.
func TestNothingIsKnown(t *testing.T) {
	t.Parallel()
	if r := Examine(&Facts{}); r.State != Good || len(r.Checks) != 0 {
		t.Errorf("%+v", r)
	}
}

// What only root may look at is told, and is no fault.
func TestWhatOnlyRootMayLookAt(t *testing.T) {
	t.Parallel()
	f := well()
	f.Doubts.Denied = []string{"the rules of iptables-legacy"}
	r := Examine(f)
	at := slices.IndexFunc(r.Checks, func(c Result) bool { return c.Check == "firewall" })
	if r.State != Good || !strings.HasSuffix(r.Checks[at].Says, "; not looked at, as only root may: the rules of iptables-legacy") {
		t.Errorf("%s: %+v", r.State, r.Checks[at])
	}
	if all := f.Doubts.All(); len(all) > 0 {
		t.Errorf("doubts: %q", all)
	}
}

// A machine that has nobody behind it is not made a router, and needs no way out.
func TestSingleMachine(t *testing.T) {
	t.Parallel()
	f := well()
	f.Single, f.Interfaces, f.Routes, f.Pool, f.RoundTrip = true, f.Interfaces[:1], Routes{Looked: true}, nil, RoundTrip{}
	f.Interfaces[0].Forwards, f.Interfaces[0].ReversePath = false, 1
	r := Examine(f)
	for _, c := range r.Checks {
		if c.State != Good || slices.Contains([]string{"addresses", "hosts", "ports", "forwarding", "reverse path", "upstream", "delegation"}, c.Check) {
			t.Errorf("%+v", c)
		}
	}
	if r.State != Good || len(r.Checks) != 16 {
		t.Errorf("%s after %d checks", r.State, len(r.Checks))
	}
}

// Faults that no namespace can have, or not on every machine; those of the others are made in test/e2e.
func TestFaults(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change       func(*Facts)
		check        string
		state        State
		what, remedy string
	}{
		"an old kernel": {func(f *Facts) { f.Kernel.Release = "5.15.0-91" }, "kernel", Bad, "Linux 5.15.0-91 is older than 6.1", "install a newer kernel"},
		"a kernel without features": {func(f *Facts) { f.Kernel.Lacks = []string{"ring buffers", "loops (bpf_loop)"} },
			"kernel", Bad, "the kernel lacks ring buffers, loops (bpf_loop)", "CONFIG_BPF_SYSCALL"},
		"no file system for pins": {func(f *Facts) { f.Kernel.BPFFS = false }, "bpffs", Bad, "/sys/fs/bpf is no BPF file system", "mount -t bpf bpf /sys/fs/bpf"},
		"LRO":                     {func(f *Facts) { f.Interfaces[0].LRO = true }, "drivers", Bad, "eth0 joins packets before XDP sees them (LRO)", "ethtool -K eth0 lro off"},
		"VLAN tags taken off": {func(f *Facts) { f.Interfaces[0].VLANs = []string{"eth0.7"} }, "drivers", Bad,
			"eth0 takes VLAN tags off before XDP sees them, and packets of eth0.7 look as its own", "ethtool -K eth0 rxvlan off"},
		"no XDP in the driver":     {func(f *Facts) { f.Interfaces[0].Native = false }, "drivers", Bad, "runs no XDP program in its driver", "take eth0 out of interfaces.xdp"},
		"a clock that nobody sets": {func(f *Facts) { f.Clock.Synchronised = false }, "clock", Warning, "nobody sets the clock", "timedatectl set-ntp true"},
		"a certificate that has ended": {func(f *Facts) { f.Certificate.Ends = f.Now.Add(-time.Hour) }, "certificate", Bad,
			"/etc/a.crt has ended on 2026-11-30", "put a new one there"},
		"an upstream without UDP": {func(f *Facts) { f.Upstream[0].UDP, f.Upstream[0].EDNS = "no answer", "no answer" }, "upstream", Bad,
			"does not answer over UDP", "dig @192.0.2.53 -p 53 . NS +notcp"},
		"a list that is old": {func(f *Facts) {
			f.Gateway.Lists[0] = List{Name: "drop", Error: "status 404", Fetched: f.Now.Add(-49 * time.Hour)}
		},
			"lists", Warning, "list drop is 49h0m0s old: status 404", "realmgate lists refresh drop"},
		"what the gateway warns of": {func(f *Facts) {
			f.Gateway.Warnings = []string{"an outbound address has no port left: add outbound.addresses and reload"}
		},
			"status", Warning, "an outbound address has no port left", "add outbound.addresses and reload"},
		"who may not ask it": {func(f *Facts) { f.Gateway = Gateway{Socket: "/run/a.sock", Error: "permission denied"} }, "gateway", Warning,
			"it cannot be asked: permission denied", "as a member of the group realmgate-read"},
		"memory that nearly suffices": {func(f *Facts) { f.Gateway, f.Memory.Needed = Gateway{}, 95<<20 }, "memory", Warning, "95 MiB, and 100 MiB are available", "realmgate tune"},
	} {
		f := well()
		c.change(f)
		r := Examine(f)
		first := r.Checks[0]
		if r.State != c.state || first.Check != c.check || first.State != c.state || len(first.Faults) != 1 || !strings.Contains(first.Faults[0].What, c.what) ||
			!strings.Contains(first.Faults[0].Remedy, c.remedy) || r.Checks[1].State != Good {
			t.Errorf("%s: %s, %+v", name, r.State, r.Checks[:2])
		}
	}
}

// What fails because of something else stands below it, also at second hand; what the gateway warns of as well is not said again.
func TestOneCause(t *testing.T) {
	t.Parallel()
	const down = "interface eth0 is down: ip link set eth0 up"
	f := well()
	f.Doubts.Interfaces, f.Gateway.Warnings = []string{down}, []string{down}
	f.Routes.Default = false
	f.Upstream[0] = Server{Address: f.Upstream[0].Address, UDP: "no answer", EDNS: "no answer", TCP: "no answer"}
	f.Gateway.Lists[0].Error = "no answer"
	f.Clock.Synchronised = false
	r := Examine(f)
	var explains []string
	for _, e := range r.Checks[0].Explains {
		explains = append(explains, e.Check)
	}
	if r.Checks[0].Check != "interfaces" || !slices.Equal(explains, []string{"route", "upstream", "lists"}) ||
		r.Checks[1].Check != "clock" || r.Checks[2].State != Good {
		t.Errorf("%+v", r.Checks)
	}
	if got := r.Checks[0].Faults[0]; got.What != "interface eth0 is down" || got.Remedy != "ip link set eth0 up" {
		t.Errorf("%+v", got)
	}
}

// Each cause is a check, and stands before what it explains.
func TestCausesAreChecks(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, c := range checks {
		for _, because := range c.because {
			if !seen[because] && !slices.Contains([]string{"upstream", "lists"}, because) {
				t.Errorf("%s is because of %s, which comes later or is none", c.name, because)
			}
		}
		seen[c.name] = true
	}
}
