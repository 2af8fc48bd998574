package daemon

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/datapath"
	"github.com/realmgate/realmgate/internal/explain"
	"github.com/realmgate/realmgate/internal/lab/packets"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/test/dataplane"
)

var (
	configurations = flag.Int("configurations", 3, "of TestExplainDifferential; 1000 in a slow run")
	flows          = flag.Int("flows", 60, "of TestExplainDifferential for each configuration")
	explainSeed    = flag.Uint64("explain-seed", 0, "of TestExplainDifferential; 0: one from the clock, which a failure prints")
)

// differentialParts run side by side where there is much to do: each waits for the kernel half of its time.
const differentialParts = 4

// Random flows through random configurations end as explained, and the functions that were
// explained are asked.
func TestExplainDifferential(t *testing.T) {
	t.Parallel()
	seed := *explainSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("again: -run TestExplainDifferential -configurations %d -flows %d -explain-seed %d", *configurations, *flows, seed)
	parts := 1
	if *configurations >= 20*differentialParts {
		parts = differentialParts
	}
	for n := range parts {
		t.Run(fmt.Sprint("part ", n), func(t *testing.T) {
			t.Parallel()
			d := &differential{rig: newRig(t, text+"capacity: 1024\n"), r: rand.New(rand.NewPCG(seed, uint64(n))), ends: map[model.Reason]int{}, dries: map[datapath.Mode]*datapath.Dry{}}
			// Without it each answer waits half a second for a disk that nobody writes.
			ctx, cancel := context.WithCancel(t.Context())
			var running sync.WaitGroup
			running.Go(func() { d.pool.Run(ctx) })
			defer func() { cancel(); running.Wait() }()
			d.walk(*configurations/parts, *flows)
		})
	}
}

// follow explains the configuration in force.
func (d *differential) follow() {
	d.t.Helper()
	d.explainer, d.explained = d.newExplainer(), d.view.Load()
	open := d.explainer.Dry
	d.explainer.Dry = func(mode datapath.Mode) (dry *datapath.Dry, err error) {
		if dry = d.dries[mode]; dry != nil {
			return dry, d.setChains(dry, d.explained)
		}
		dry, err = open(mode)
		d.dries[mode] = dry
		return dry, err
	}
}

// walk sends flows through so many configurations.
func (d *differential) walk(configurations, flows int) {
	defer func() {
		d.explainer = nil
		for _, dry := range d.dries {
			d.must(dry.Close())
		}
	}()
	d.routed()
	for n := range configurations {
		d.configure()
		d.follow()
		for range flows {
			d.once()
		}
		if d.t.Failed() {
			d.t.Fatalf("configuration %d:\n%s", n, d.text)
		}
	}
	d.t.Logf("ends %v, functions asked %d times", d.ends, d.asks)
	for _, reason := range []model.Reason{model.ReasonDropDenied, model.ReasonDropBanned, model.ReasonToGateway, model.ReasonDropNoBinding} {
		if d.ends[reason] == 0 && configurations >= 20 {
			d.t.Errorf("no packet ended with %s", reason)
		}
	}
}

type differential struct {
	*rig
	r    *rand.Rand
	bans map[netip.Prefix]time.Time
	ends map[model.Reason]int
	asks int
	// To load the programs of dry runs takes longer than to go through a configuration: they stay, and get other chains.
	dries map[datapath.Mode]*datapath.Dry
}

func pick[T any](d *differential, list ...T) T { return list[d.r.IntN(len(list))] }

// often is true in n of 10.
func (d *differential) often(n int) bool { return d.r.IntN(10) < n }

// configure puts a random configuration into force.
func (d *differential) configure() {
	d.t.Helper()
	for tries := 0; ; tries++ {
		d.text = d.configuration()
		err := d.reloadWith(d.text)
		if err == nil {
			break
		}
		if tries == 20 {
			d.t.Fatalf("no configuration of 20 is valid: %v\n%s", err, d.text)
		}
	}
	if d.often(5) {
		_, err := d.data.EndSessions(func(datapath.Session) bool { return true })
		d.must(err)
	}
	d.must(d.data.DeleteBans(slices.Collect(maps.Keys(d.bans))))
	d.bans = map[netip.Prefix]time.Time{}
	for d.often(4) {
		d.bans[netip.PrefixFrom(d.stranger(), pick(d, 32, 32, 31)).Masked()] = time.Now().Add(time.Hour)
	}
	d.must(d.data.PutBans(d.bans))
}

const listedHosts = `  - {name: hostb.foo.example., address: 10.0.0.101, open: all}
  - {name: dns.foo.example., address: 10.0.0.102, services: [{name: ask.foo.example., protocol: udp, port: 53}, {name: shell.foo.example., protocol: tcp, port: 22}]}
`

func (d *differential) configuration() string {
	var b strings.Builder
	b.WriteString(strings.Replace(text, "pool: {", "pool: {wait: 0s, ", 1) + listedHosts) // who gets no address does without
	if d.often(3) {
		b.WriteString("  - {name: own.foo.example., address: 10.0.0.103, one_to_one: 198.18.0.7}\n")
	}
	b.WriteString("capacity: 1024\n")
	fmt.Fprintf(&b, "outbound: {addresses: [198.18.0.2], filtering: %s%s}\n",
		pick(d, "endpoint-independent", "address-dependent", "address-and-port-dependent"), pick(d, "", "", ", except: [203.0.113.8/30]"))
	if d.often(4) {
		fmt.Fprintf(&b, "limits: {host_sessions: %d, host_ports: {udp: %d}, remote_sessions: %d, host_rate: 0, remote_rate: 0}\n", pick(d, 0, 3, 40), pick(d, 0, 2, 20), pick(d, 0, 2, 20))
	} else {
		b.WriteString("limits: {host_rate: 0, remote_rate: 0}\n")
	}
	if d.often(3) {
		b.WriteString("mss: " + pick(d, "off", "1200") + "\n")
	}
	if d.often(3) {
		b.WriteString("ipv6: forward\n")
	}
	if d.often(8) {
		b.WriteString("chains:\n")
		jumps := []string(nil)
		for n := range 1 + d.r.IntN(5) {
			d.chain(&b, n, jumps)
			jumps = append(jumps, fmt.Sprint("c", n))
		}
	}
	if d.often(4) {
		d.protection(&b)
	}
	return b.String()
}

// chain writes one that may jump to those before, which have no dnat.
func (d *differential) chain(b *strings.Builder, n int, jumps []string) {
	dnat := n > 2 && d.often(5)
	match := []string{}
	if dnat {
		match = append(match, "direction: in", "to: "+pick(d, "198.18.0.2", "198.18.0.3", "198.18.0.1"))
	} else if d.often(7) {
		match = append(match, "direction: "+pick(d, "in", "out"))
	}
	if d.often(3) {
		match = append(match, "remote: "+pick(d, "203.0.113.0/29", "203.0.113.4/30", "192.0.2.0/24"))
	}
	if dnat || d.often(3) {
		match = append(match, "protocol: "+pick(d, "tcp", "udp"))
		if d.often(7) {
			match = append(match, "port: "+pick(d, "80", "8000", "20-90"))
		}
	} else if d.often(2) {
		match = append(match, "service: "+pick(d, www, "ask.foo.example."))
	}
	fmt.Fprintf(b, "  - name: c%d\n    match: {%s}\n    functions:\n", n, strings.Join(match, ", "))
	functions := 1 + d.r.IntN(3)
	for f := range functions {
		name := fmt.Sprintf("name: f%d", f)
		switch k := d.r.IntN(12); {
		case k < 4:
			fmt.Fprintf(b, "      - {use: filter, %s, deny: [%s]}\n", name, d.condition())
		case k < 6:
			fmt.Fprintf(b, "      - {use: filter, %s, allow: [%s, %s]}\n", name, d.condition(), d.condition())
		case k < 7:
			fmt.Fprintf(b, "      - {use: rate-limit, %s, new: %d/h, burst: %s, per: %s}\n", name, pick(d, 1, 5, 50), pick(d, "1h", "3h"), pick(d, "source", "host"))
		case k < 8:
			fmt.Fprintf(b, "      - {use: dos-denial, %s, rate: %d/h, window: 1h, per: %s}\n", name, pick(d, 2, 20), pick(d, "source", "flow"))
		case k < 9 && len(jumps) > 0:
			fmt.Fprintf(b, "      - {use: jump, %s, chain: %s%s}\n", name, pick(d, jumps...), pick(d, "", ", when: ["+d.condition()+"]"))
		case k < 10:
			fmt.Fprintf(b, "      - {use: mirror, %s}\n", name)
		case k < 11:
			fmt.Fprintf(b, "      - {use: first-bytes, %s, deny: [%s]}\n", name, `{text: "SSH-"}`)
		default:
			fmt.Fprintf(b, "      - {use: filter, %s, deny: [{protocol: tcp, port: 22}]}\n", name)
		}
	}
	if dnat && d.often(7) {
		b.WriteString(pick(d, "      - {use: dnat, to: 10.0.0.101, port: 8080}\n", "      - {use: dnat, to: 172.16.0.1}\n",
			"      - {use: multipath, backends: [{to: 10.0.0.101}, {to: 10.0.0.102}]}\n"))
	} else if dnat {
		b.WriteString("      - {use: dnat, to: 10.0.0.102}\n")
	}
}

func (d *differential) condition() string {
	return pick(d, "203.0.113.0/29", "203.0.113.5", "{from: 203.0.113.4/30}", "{from: 10.0.0.100}", "{to: 10.0.0.101}", "{protocol: udp}", "{protocol: tcp, port: 80}", "{protocol: icmp}", "192.0.2.0/24")
}

func (d *differential) protection(b *strings.Builder) {
	b.WriteString("protection:\n")
	fmt.Fprintf(b, "  allowlist: [%s]\n", pick(d, "203.0.113.1", "203.0.113.4/31"))
	if d.often(6) {
		fmt.Fprintf(b, "  blocklist: [203.0.113.4/30, {remote: 203.0.113.8, direction: %s}]\n", pick(d, "in", "out"))
	}
	if d.often(4) {
		b.WriteString("  ignored_ports: {tcp: [443]}\n")
	}
	if d.often(6) {
		b.WriteString("  honeypot: {tcp: [23, 8000], udp: [1900]}\n")
	}
}

func (d *differential) stranger() netip.Addr {
	return netip.AddrFrom4([4]byte{203, 0, 113, byte(1 + d.r.IntN(12))})
}

func (d *differential) host() netip.Addr {
	return netip.AddrFrom4([4]byte{10, 0, 0, byte(100 + d.r.IntN(4))})
}

// flow is one that may meet something.
func (d *differential) flow() (f explain.Flow) {
	address := netip.MustParseAddr
	f.Protocol = pick(d, model.TCP, model.TCP, model.TCP, model.UDP, model.UDP, model.ICMP, model.ESP, model.UDPLite)
	if f.Protocol.HasPorts() {
		f.Port = pick[uint16](d, 22, 23, 53, 80, 443, 1900, 8000, 8080, 7000)
	}
	f.Direction = pick(d, model.In, model.Out)
	if f.Direction == model.In {
		f.Source = d.stranger()
		if d.often(1) {
			f.Source = pick(d, d.host(), address("198.18.0.2"), address("10.0.0.7"), address("127.0.0.1"), address("192.0.2.7"))
		}
		f.Destination = pick(d, address("198.18.0.2"), address("198.18.0.2"), address("198.18.0.1"), address("198.18.0.3"), address("198.18.0.7"), address("198.18.0.32"), d.host(), address("224.0.1.1"))
		if d.often(5) {
			f.Destination = d.lent()
		}
	} else {
		f.Source = d.host()
		if d.often(1) {
			f.Source = pick(d, d.stranger(), address("198.18.0.2"), address("10.1.0.9"))
		}
		f.Destination = pick(d, d.stranger(), d.stranger(), d.stranger(), address("198.18.0.2"), address("198.18.0.7"), address("10.0.0.1"), d.host(), address("198.18.0.3"))
		if d.often(1) {
			f.Destination = d.lent()
		}
	}
	if f.Protocol.HasPorts() && f.Destination == address("198.18.0.2") && d.often(6) {
		f.Port = somePort + uint16(d.r.IntN(3)) // of a mapping, maybe: hosts keep their ports
	}
	if f.Direction == model.In && f.Destination == address("198.18.0.1") && f.Port == 53 {
		f.Port = 54 // questions are looked at by a program that dry runs do without
	}
	return f
}

// lent is what some name is answered.
func (d *differential) lent() netip.Addr {
	a, err := d.ask(pick(d, www, "hostb.foo.example.", "ask.foo.example.", "shell.foo.example."))
	if err != nil { // the asker has had enough
		return netip.MustParseAddr("198.18.0.33")
	}
	return a
}

// seen is how often functions were asked, by their numbers.
func (d *differential) seen() map[uint32]uint64 {
	d.t.Helper()
	counts, err := d.data.Counts()
	d.must(err)
	seen := map[uint32]uint64{}
	for number, c := range counts {
		seen[uint32(number)] = c.Seen
	}
	return seen
}

// forwards are the reasons that an explanation does not tell apart.
var forwards = []model.Reason{model.ReasonForwarded, model.ReasonForwardedByStack, model.ReasonForwardedNoNeighbour}

// once explains a flow and sends its first packet.
func (d *differential) once() {
	d.t.Helper()
	d.flowIs(d.flow())
}

func (d *differential) flowIs(f explain.Flow) {
	var x api.Explanation
	var in dataplane.Injected
	d.must(d.namespace.Do(func() (err error) {
		if x, err = d.explains().Explain(api.ExplainRequest{Address: f.Source, ToAddress: f.Destination, Protocol: f.Protocol, Port: f.Port, Direction: f.Direction}); err == nil {
			in.Frame, in.Mode, err = d.explains().First(&f)
		}
		return err
	}))
	asked := map[uint32]uint64{}
	for _, s := range x.Steps {
		if number, is := d.view.Load().numbers[s.Step]; is {
			asked[number]++
			d.asks++
		}
	}
	in.Octets = f.Packet().Between(packets.RouterMAC, packets.GatewayPublicMAC).Bytes()
	counters, seen := d.counters(), d.seen()
	d.must(d.namespace.Do(func() error {
		_, _, err := dataplane.Inject(d.data, in)
		return err
	}))
	after, now := d.counters(), d.seen()
	changed := map[model.Reason]bool{}
	for reason := range after {
		if after[reason] != counters[reason] {
			changed[reason] = true
		}
	}
	really := map[uint32]uint64{}
	for number := range now {
		if now[number] != seen[number] {
			really[number] = now[number] - seen[number]
		}
	}
	ends := []model.Reason{x.Reason}
	if x.Reason == "" && x.Passes {
		ends = forwards
	}
	d.ends[ends[0]]++
	told := fmt.Sprintf("%s %s from %s to %s port %d: explained %s", f.Direction, f.Protocol, f.Source, f.Destination, f.Port, said(x))
	if !slices.ContainsFunc(ends, func(r model.Reason) bool { return changed[r] }) {
		d.t.Errorf("%s, and then it ended with %v", told, changed)
	}
	if len(changed) > 1 { // it was answered, and so was the answer judged
		maps.DeleteFunc(really, func(number uint32, times uint64) bool { return asked[number] != times })
		maps.DeleteFunc(asked, func(number uint32, times uint64) bool { return now[number]-seen[number] > times })
	}
	if !reflect.DeepEqual(asked, really) {
		d.t.Errorf("%s, asked were %v, and then %v", told, asked, really)
	}
}

func (d *differential) counters() map[model.Reason]uint64 {
	d.t.Helper()
	counters, err := d.data.Counters()
	d.must(err)
	return counters
}
