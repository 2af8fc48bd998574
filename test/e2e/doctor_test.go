package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/realmgate/realmgate/internal/doctor"
	"github.com/realmgate/realmgate/internal/lab/netns"
)

// above is a name server that answers for all that is above foo.example.
type above struct {
	server          string     // of foo.example.
	leads           netip.Addr // where that is
	noEDNS, onlyUDP bool
}

// serve serves it at the resolver's address until the test ends.
func (a above) serve(t *testing.T, at netns.Node) {
	t.Helper()
	handler := dns.HandlerFunc(func(w dns.ResponseWriter, q *dns.Msg) {
		m := new(dns.Msg).SetReply(q)
		if a.noEDNS && q.IsEdns0() != nil {
			m.Rcode = dns.RcodeFormatError
		} else {
			m.Answer, m.Ns, m.Extra = a.records(q.Question[0], at.IP)
		}
		_ = w.WriteMsg(m)
	})
	packets, err := at.ListenPacket("udp4", at.IP.String()+":53")
	if err != nil {
		t.Fatal(err)
	}
	servers := []*dns.Server{{PacketConn: packets, Handler: handler}}
	t.Cleanup(func() { _ = packets.Close() })
	if !a.onlyUDP {
		listener, err := at.Listen("tcp4", at.IP.String()+":53")
		if err != nil {
			t.Fatal(err)
		}
		servers = append(servers, &dns.Server{Listener: listener, Handler: handler})
		t.Cleanup(func() { _ = listener.Close() })
	}
	for _, s := range servers {
		go func() { _ = s.ActivateAndServe() }()
	}
}

func (a above) records(q dns.Question, at netip.Addr) (answer, authority, extra []dns.RR) {
	of := func(format string, arguments ...any) []dns.RR {
		record, err := dns.NewRR(fmt.Sprintf(format, arguments...))
		if err != nil {
			panic(err)
		}
		return []dns.RR{record}
	}
	switch {
	case q.Name == "foo.example.":
		return nil, of("foo.example. 300 IN NS %s", a.server), of("%s 300 IN A %s", a.server, a.leads)
	case q.Name == "ns.example.":
		return of("ns.example. 300 IN A %s", at), nil, nil
	case q.Qtype == dns.TypeNS:
		return of("%s 300 IN NS ns.example.", q.Name), nil, nil
	}
	return nil, nil, nil
}

// ward is what the doctor is asked about.
type ward struct {
	*realm
	above
	configuration string
	before        string   // what a shell does in mounts of its own before the doctor comes, as root
	asked         []string // of the doctor besides
	d             *daemon
}

// newWard is a good machine, on which no gateway runs.
func newWard(t *testing.T) *ward {
	r := newRealm(t, netns.Options{Hosts: 1, Clients: 1, Resolver: true})
	return &ward{realm: r, configuration: r.configuration(), above: above{server: "ns.foo.example.", leads: r.Gateway.PublicAddress}}
}

// xdp has the programs in the drivers.
func (w *ward) xdp() { w.configuration = atXDP(w.configuration, "eth0", "eth1") }

// gateway runs a command in its namespace.
func (w *ward) gateway(words string) { w.command("gateway", "sh", "-c", words) }

// runs has a gateway that runs.
func (w *ward) runs() { w.d = w.start(w.configuration) }

// setTheClock has files say that somebody did, for who looks in mounts of its own.
const setTheClock = `D=$(mktemp -d) && trap 'rmdir $D' 0 && mount -t tmpfs tmpfs $D && mkdir -p $D/systemd/timesync $D/realmgate && touch $D/systemd/timesync/synchronized &&
{ [ ! -d /run/realmgate ] || mount --bind /run/realmgate $D/realmgate; } && mount --rbind $D /run || exit 99
`

// examine is what the doctor says, and its exit code.
func (w *ward) examine() (doctor.Report, int) {
	w.t.Helper()
	file := filepath.Join(w.directory, "doctor.yaml")
	if err := os.WriteFile(file, []byte(w.configuration), 0o600); err != nil {
		w.t.Fatal(err)
	}
	script := setTheClock + w.before + "\n\"$@\""
	command := w.Gateway.Command(context.Background(), "unshare", append([]string{"--mount", "sh", "-c", script, "sh",
		program, "doctor", "--instance", w.ID(), "-c", file, "-o", "json"}, w.asked...)...)
	var stderr strings.Builder
	command.Stderr = &stderr
	begun := time.Now()
	out, err := command.Output()
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		w.t.Fatal(err)
	}
	var report doctor.Report
	if err := json.Unmarshal(out, &report); err != nil {
		w.t.Fatalf("%v: %s%s", err, out, &stderr)
	}
	if took := time.Since(begun); took > 30*time.Second {
		w.t.Errorf("it took %v", took)
	}
	if ended == nil {
		return report, 0
	}
	return report, ended.ExitCode()
}

// alone has a machine that has nobody behind it: it forwards nothing, by its firewall, too, and checks reverse paths strictly.
func (w *ward) alone() {
	w.configuration = "interfaces: {public: [eth0]}\n"
	w.gateway("sysctl -qw net.ipv4.ip_forward=0 net.ipv4.conf.eth0.forwarding=0 net.ipv4.conf.all.rp_filter=1 net.ipv4.conf.eth0.rp_filter=1")
	w.gateway("nft add table inet f && nft add chain inet f forward '{ type filter hook forward priority 0; policy drop; }'")
}

// On a good machine the doctor has nothing to say, whether a gateway runs or not, and wherever its programs are.
func TestDoctorIsSilent(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		prepare func(*ward)
		least   int // checks
	}{
		"no gateway":       {func(*ward) {}, 18},
		"in the drivers":   {(*ward).xdp, 18},
		"one that runs":    {(*ward).runs, 18},
		"in drivers runs":  {func(w *ward) { w.xdp(); w.runs() }, 18},
		"a single machine": {func(w *ward) { w.alone(); w.runs() }, 14},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWard(t)
			w.serve(t, *w.Resolver)
			c.prepare(w)
			report, code := w.examine()
			for _, c := range report.Checks {
				if c.State != doctor.Good || c.Says == "" {
					t.Errorf("%+v", c)
				}
			}
			if code != 0 || report.State != doctor.Good || len(report.Checks) < c.least {
				t.Errorf("exit %d, %s after %d checks", code, report.State, len(report.Checks))
			}
		})
	}
}

// fault is one that a test makes.
type fault struct {
	makes    func(*ward)
	check    string
	code     int
	what     string   // the first line has
	remedy   string   // and it
	explains []string // checks that fail because of it
}

// operations.md, done when 20: each fault is found, with its cause first and once, and with what repairs it.
func TestDoctorFinds(t *testing.T) {
	t.Parallel()
	for name, f := range faults {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWard(t)
			f.makes(w)
			w.serve(t, *w.Resolver)
			report, code := w.examine()
			text, _ := json.MarshalIndent(report, "", " ")
			first := report.Checks[0]
			if code != f.code || first.Check != f.check || !strings.Contains(first.Faults[0].What, f.what) || !strings.Contains(first.Faults[0].Remedy, f.remedy) {
				t.Fatalf("exit %d, want %d and %s: %s → %s of\n%s", code, f.code, f.check, f.what, f.remedy, text)
			}
			var explains []string
			for _, e := range first.Explains {
				explains = append(explains, e.Check)
			}
			for _, e := range f.explains {
				if !slices.Contains(explains, e) {
					t.Errorf("it explains %v, want %s, too:\n%s", explains, e, text)
				}
			}
			if len(report.Checks) > 1 && report.Checks[1].State != doctor.Good {
				t.Errorf("it is not the only cause:\n%s", text)
			}
		})
	}
}

var faults = map[string]fault{
	"a file that is wrong": {makes: func(w *ward) { w.configuration = with(w.configuration, "capacity: many") },
		check: "configuration", code: 2, what: "capacity", remedy: "realmgate check -c "},
	"an interface that is missing": {makes: func(w *ward) { w.configuration = strings.Replace(w.configuration, "[eth1]", "[eth1, eth9]", 1) },
		check: "interfaces", code: 2, what: "interface eth9 is not on this machine", remedy: "correct the name"},
	"an interface that is down": {makes: func(w *ward) { w.gateway("ip link set eth0 down") },
		check: "interfaces", code: 2, what: "interface eth0 is down", remedy: "ip link set eth0 up", explains: []string{"route", "upstream"}},
	"a port of a bridge": {makes: func(w *ward) { w.gateway("ip link add br0 type bridge && ip link set eth1 master br0") },
		check: "interfaces", code: 2, what: "interface eth1 is a port of br0", remedy: "list br0 instead"},
	"another XDP program": {makes: func(w *ward) {
		w.gateway("ip link set dev eth0 xdpgeneric obj ../../internal/nf/capture_bpfel.o sec xdp")
	}, check: "other programs", code: 2, what: "of somebody else sees the packets of eth0", remedy: "ip link set dev eth0 xdpgeneric off"},
	"GRO off": {makes: func(w *ward) { w.xdp(); w.receiveOffload("switch", "gateway0", false) },
		check: "drivers", code: 1, what: "eth1 (veth) takes no redirected frames", remedy: "ethtool -K PEER gro on"},
	"a small MTU": {makes: func(w *ward) { w.gateway("ip link set eth0 mtu 1000") },
		check: "mtu", code: 1, what: "the MTU of eth0 is 1000", remedy: "ip link set eth0 mtu 1500"},
	"no route": {makes: func(w *ward) { w.gateway("ip route del default") },
		check: "route", code: 2, what: "there is no default route", remedy: "ip route add default via", explains: []string{"upstream"}},
	"a route to the wrong side": {makes: func(w *ward) { w.gateway("ip route replace default via " + w.Gateway.Hosts[0].IP.String()) },
		check: "route", code: 2, what: "leaves by eth1, which is no public interface", remedy: "ip route replace default", explains: []string{"upstream"}},
	"a router that is dead": {makes: func(w *ward) { w.gateway("ip route replace default via 198.18.0.77") },
		check: "next hop", code: 2, what: "next hop 198.18.0.77 does not answer ARP", remedy: "ip neighbour show 198.18.0.77", explains: []string{"upstream"}},
	"the pool on an interface": {makes: func(w *ward) { w.gateway("ip address add " + w.Gateway.Pool.Addr().String() + "/32 dev eth0") },
		check: "addresses", code: 2, what: "of the pool stands on an interface", remedy: "take it off the interface"},
	"the router's address in the pool": {makes: func(w *ward) {
		w.configuration = with(w.configuration, "pool: {addresses: [198.18.0.32/28, 198.18.0.254]}")
	},
		check: "addresses", code: 2, what: "198.18.0.254 of pool.addresses is the next hop", remedy: "take it out of pool.addresses"},
	"a neighbour with an address of the pool": {makes: func(w *ward) {
		w.configuration = with(w.configuration, fmt.Sprintf("pool: {addresses: [198.18.0.32/28, %s]}", w.Clients[0].IP))
	}, check: "addresses", code: 2, what: "is in use by a neighbour on eth0", remedy: "take it out of pool.addresses"},
	"a name server's address that nobody has": {makes: func(w *ward) {
		w.configuration = strings.Replace(w.configuration, w.Gateway.PublicAddress.String()+":53", "198.18.0.9:53", 1)
		w.leads = netip.MustParseAddr("198.18.0.9")
	}, check: "addresses", code: 2, what: "dns.public: 198.18.0.9 is on no interface", remedy: "put it on eth0"},
	"a host that no way leads to": {makes: func(w *ward) { w.configuration += hostEntry(1, netip.MustParseAddr("192.168.55.9")) },
		check: "hosts", code: 2, what: "192.168.55.9 is in no network of a private interface", remedy: "correct the address"},
	"port 53 taken": {makes: func(w *ward) {
		socket, err := w.Gateway.ListenPacket("udp4", w.Gateway.PublicAddress.String()+":53")
		if err != nil {
			w.t.Fatal(err)
		}
		w.t.Cleanup(func() { _ = socket.Close() })
	}, check: "ports", code: 2, what: "e2e.test (process ", remedy: "have it listen at another address"},
	"a firewall that drops": {makes: func(w *ward) {
		w.gateway("nft add table inet f && nft add chain inet f forward '{ type filter hook forward priority 0; policy drop; }'")
	}, check: "firewall", code: 2, what: "chain forward of table inet f of nftables drops", remedy: "nft insert rule inet f forward"},
	"a firewall that translates again": {makes: func(w *ward) {
		w.gateway("nft add table ip n && nft add chain ip n post '{ type nat hook postrouting priority 100; }' && nft add rule ip n post oifname eth0 masquerade")
	}, check: "firewall", code: 2, what: "chain post of table ip n of nftables translates again", remedy: "nft insert rule ip n post"},
	"a qdisc that shapes nothing": {makes: func(w *ward) {
		w.xdp()
		w.gateway("tc qdisc add dev eth0 root tbf rate 100mbit burst 32k latency 50ms")
	},
		check: "other programs", code: 2, what: "qdisc tbf of eth0 shapes none", remedy: "tc qdisc delete dev eth0 root"},
	"an upstream that is dead": {makes: func(w *ward) {
		w.configuration = strings.Replace(w.configuration, "198.51.100.53:53", "198.51.100.53:54", 1)
	},
		check: "upstream", code: 2, what: "name server 198.51.100.53:54 does not answer", remedy: "dig @198.51.100.53 -p 54"},
	"an upstream without TCP": {makes: func(w *ward) { w.onlyUDP = true },
		check: "upstream", code: 1, what: "198.51.100.53:53 does not answer over TCP", remedy: "+tcp"},
	"an upstream without EDNS": {makes: func(w *ward) { w.noEDNS = true },
		check: "upstream", code: 1, what: "does not take EDNS: it says FORMERR", remedy: "name another under dns.upstream"},
	"a delegation to others": {makes: func(w *ward) { w.server = "ns.elsewhere.example." },
		check: "delegation", code: 2, what: "is served by ns.elsewhere.example., and not by ns.foo.example.", remedy: "foo.example. NS ns.foo.example. and ns.foo.example. A 198.18.0.1"},
	"glue that leads elsewhere": {makes: func(w *ward) { w.leads = netip.MustParseAddr("192.0.2.99") },
		check: "delegation", code: 2, what: "ns.foo.example. is at [192.0.2.99]", remedy: "ns.foo.example. A 198.18.0.1"},
	"too little memory": {makes: func(w *ward) {
		w.configuration = with(w.configuration, "capacity: 10000000")
		w.before = "echo 'MemAvailable: 500000 kB' >$D/meminfo && mount --bind $D/meminfo /proc/meminfo"
	}, check: "memory", code: 2, what: "capacity 10000000 takes up to", remedy: "realmgate tune --sessions N"},
	"a disk that is full": {makes: func(w *ward) {
		w.before = "mount -t tmpfs -o size=1m tmpfs /var/lib && mkdir /var/lib/realmgate && head -c 900000 /dev/zero >/var/lib/realmgate/log"
	}, check: "disk", code: 2, what: "/var/lib/realmgate has", remedy: "df /var/lib/realmgate"},
	"a disk that cannot be written": {makes: func(w *ward) { w.before = "mount -t tmpfs -o ro tmpfs /var/lib" },
		check: "disk", code: 2, what: "/var/lib/realmgate cannot be written", remedy: "mount -o remount,rw"},
	"a kernel that is locked down": {makes: func(w *ward) {
		w.before = "mount -t tmpfs tmpfs /sys/kernel/security && echo 'none integrity [confidentiality]' >/sys/kernel/security/lockdown"
	}, check: "lockdown", code: 2, what: "locked down for confidentiality", remedy: "lockdown=integrity"},
	"a capability that is missing": {makes: func(w *ward) { w.before = "set -- setpriv --bounding-set=-bpf,-sys_admin \"$@\"" },
		check: "capabilities", code: 2, what: "the data plane needs CAP_BPF", remedy: "run as root"},
	"a certificate that ends soon": {makes: func(w *ward) {
		crt, key := filepath.Join(w.directory, "a.crt"), filepath.Join(w.directory, "a.key")
		out, err := exec.Command("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "5", "-subj", "/CN=gw", "-keyout", key, "-out", crt).CombinedOutput()
		if err != nil {
			w.t.Fatalf("%v: %s", err, out)
		}
		w.configuration = with(w.configuration, fmt.Sprintf("api: {listen: [\"127.0.0.1:8443\"], certificate: %s, key: %s}", crt, key))
	}, check: "certificate", code: 1, what: "a.crt ends on ", remedy: "put a new one there"},
	"a gateway that hangs": {makes: func(w *ward) {
		w.runs()
		if err := w.d.command.Process.Signal(syscall.SIGSTOP); err != nil {
			w.t.Fatal(err)
		}
		w.t.Cleanup(func() { _ = w.d.command.Process.Signal(syscall.SIGCONT) })
	}, check: "gateway", code: 2, what: "has the control socket, and does not answer", remedy: "realmgate bugreport"},
	"a gateway that was killed": {makes: func(w *ward) {
		w.runs()
		w.d.kill()
		w.gateway("sysctl -qw net.ipv4.conf.eth1.forwarding=0 net.ipv4.conf.all.rp_filter=1 net.ipv4.conf.eth0.rp_filter=1")
	}, check: "gateway", code: 2, what: "no daemon runs, and its data plane is at work", remedy: "realmgate run -c ", explains: []string{"forwarding", "reverse path"}},
	// The doctor has nobody above it whose mounts would outlive it.
	"no file system for pins": {makes: func(w *ward) {
		w.before = "mount -t tmpfs tmpfs /sys/fs/bpf && set -- unshare --pid --fork --mount-proc \"$@\""
	}, check: "bpffs", code: 2, what: "/sys/fs/bpf is no BPF file system", remedy: "mount -t bpf bpf /sys/fs/bpf"},
	// The kernel has one clock for all: what it says of that is said to this process alone.
	"a clock that nobody sets": {makes: func(w *ward) {
		w.before = "rm /run/systemd/timesync/synchronized && set -- strace -f -qq -o /dev/null -e inject=adjtimex,clock_adjtime:retval=5 \"$@\""
	}, check: "clock", code: 1, what: "nobody sets the clock", remedy: "timedatectl set-ntp true"},
	"a pool that leads elsewhere": {makes: func(w *ward) {
		w.runs()
		w.command("router", "ip", "route", "add", w.Gateway.Pool.String(), "via", w.Resolver.IP.String())
		w.command("resolver", "sysctl", "-qw", "net.ipv4.ip_forward=1")
	}, check: "pool", code: 2, what: "198.18.0.32 of the pool does not lead here: 198.51.100.53 says that it would pass it on", remedy: "have the router outside lead 198.18.0.32 to this gateway"},
	"a pool that is unreachable": {makes: func(w *ward) {
		w.xdp()
		w.runs()
		w.command("router", "ip", "route", "add", "unreachable", w.Gateway.Pool.String())
	}, check: "pool", code: 2, what: "198.18.0.254 says that it is unreachable", remedy: "have the router outside lead 198.18.0.32 to this gateway"},
	"a list that cannot be fetched": {makes: func(w *ward) {
		w.configuration = with(w.configuration, `lists: [{name: drop, url: "http://198.51.100.53:81/drop.txt"}]`, "protection: {blocklist: [{list: drop, direction: in}]}")
		w.runs()
		eventually(w.t, 20*time.Second, "it was tried", func() bool {
			out, _ := w.d.tell("lists", "-o", "json")
			return strings.Contains(out, `"error"`)
		})
	}, check: "lists", code: 1, what: "list drop was never fetched", remedy: "realmgate lists refresh drop"},
}
