package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"time"

	"github.com/realmgate/realmgate/internal/lab/netns"
	"github.com/realmgate/realmgate/internal/lab/oncpu"
)

// ChainOptions say how to show a chain of network functions at work.
type ChainOptions struct {
	Out        io.Writer
	JSON       bool   // one array of Result instead of the text
	Colour     bool   // for a terminal
	Executable string // the realmgate program; empty means this one

	plan *plan // a test has less time
}

// plan is the experiment's times and rates, in bits of IP packets a second.
type plan struct {
	window    time.Duration // of dos-denial, and of each phase
	rates     [3]float64    // of the phases
	threshold string
	attempts  int // to send that, on a busy machine

	load   float64 // of each flow, beside plain routing
	rounds int
	round  time.Duration

	record func() (*oncpu.Recorder, error) // begins to see context switches
}

// hanna is the plan of Hanna's experiments: the rounds make 10 seconds.
var hanna = plan{
	window: 10 * time.Second, rates: [3]float64{50e6, 150e6, 100e6}, threshold: "100Mbit", attempts: 3,
	load: 1e9, rounds: 5, round: 2 * time.Second,
	record: oncpu.Start,
}

// Measured is what a run of the experiments measured.
type Measured struct {
	Every  float64 // seconds that each rate of a flow is about
	Flows  []Flow
	Shown  bool   // Flows show what figure 7.2 shows
	Chains uint64 // bytes of the chains' programs and tables
	Rounds []Round
}

// ends of the two flows: a port of the gateway's address, and the host that it goes to.
var flowPorts = [2]uint16{53, 123}

// experiment is Hanna's chapter 7: two flows through a chain each, of dos-denial and
// dnat, to two hosts.
type experiment struct {
	stage
	plan
	sender   person
	through  *netns.Gateway // the one with chains
	beside   *netns.Gateway // a kernel that routes
	measured Measured
	flows    uint64 // that there were so far
}

// RunChain shows a chain at work as Run tells the story, and returns what was measured.
func RunChain(ctx context.Context, o ChainOptions) (Measured, error) {
	var err error
	if o.Executable, err = ready(o.Executable); err != nil {
		return Measured{}, err
	}
	if o.plan == nil {
		o.plan = &hanna
	}
	options := Options{Out: o.Out, JSON: o.JSON, Colour: o.Colour, Executable: o.Executable}
	e := &experiment{plan: *o.plan, stage: stage{options: options, tell: newTeller(options, "a chain of network functions in the kernel")}}
	err = e.perform(ctx, e.steps(), func() {}, nil)
	return e.measured, err
}

func (e *experiment) steps() []step {
	return []step{
		{"Two flows, two chains, two hosts", e.layOut},
		{"Who sends too much is cut off (Hanna, figure 7.2)", e.deny},
		{"What a chain takes (Hanna, tables 7.3 and 7.4)", e.load},
		{"A clean stop leaves nothing behind", e.stop},
	}
}

// layOut lays a sender outside, a gateway with chains, and beside it a second one that
// routes, each with two hosts.
func (e *experiment) layOut(ctx context.Context) error {
	if err := e.lay(netns.Options{Hosts: 2, Clients: 1, Gateways: 2}); err != nil {
		return err
	}
	e.sender = person{"sender", e.realm.Clients[0]}
	e.through, e.beside = e.realm.Gateways[0], e.realm.Gateways[1]
	err := errors.Join(e.beside.SetSysctl("net/ipv4/ip_forward", "1"), e.sender.Route("10.0.0.0/16", e.beside.PublicAddress.String()))
	if err != nil {
		return err
	}
	for i, port := range flowPorts {
		e.tell.note(fmt.Sprintf("flow %d: sender %s -> %s:%d -> dos-denial -> dnat -> host%d %s", i+1, e.sender.IP, e.through.PublicAddress, port,
			i+1, e.through.Hosts[i].IP))
	}
	e.tell.note("")
	if err := e.startGateway(ctx, e.configuration(false)); err != nil {
		return err
	}
	return e.putChains(ctx)
}

// putChains puts the chains into force, and tells what memory they take.
func (e *experiment) putChains(ctx context.Context) error {
	before, err := e.gateway.client.Status(ctx)
	if err != nil {
		return err
	}
	if err := e.gateway.configure(e.configuration(true)); err != nil {
		return err
	}
	if _, err := e.gateway.client.ConfigEditor().Reload(ctx); err != nil {
		return fmt.Errorf("put the chains into force: %w", err)
	}
	after, err := e.gateway.client.Status(ctx)
	if err != nil {
		return err
	}
	e.measured.Chains = after.ChainBytes - before.ChainBytes
	e.tell.say("The chains are in force. Their programs and tables take %d KB.", kilobytes(e.measured.Chains))
	e.tell.see("chain_bytes", e.measured.Chains)
	return nil
}

func kilobytes(bytes uint64) uint64 { return (bytes + 512) / 1024 }

// configuration is a gateway whose own address the flows come to.
func (e *experiment) configuration(chains bool) string {
	g := e.through
	text := fmt.Sprintf(`interfaces: {public: [%s], private: [%s]}
realm: {zones: [%s], nameserver: ns.%[3]s}
dns: {public: "%s:5353", private: "%s:53"}
pool: {addresses: [%s]}
capacity: 10000
`, g.Public[0], g.Private[0], zone, g.PublicAddress, g.PrivateAddress, g.Pool.Addr().Next())
	if !chains {
		return text
	}
	text += "chains:\n"
	for i, port := range flowPorts {
		text += fmt.Sprintf(`  - name: flow%d
    match: {direction: in, to: %s, protocol: udp, port: %d}
    functions:
      - {use: dos-denial, priority: 10, threshold: %s, window: %s, per: flow, entries: 1024}
      - {use: dnat, priority: 20, to: %s}
`, i+1, g.PublicAddress, port, e.threshold, e.window, g.Hosts[i].IP)
	}
	return text
}

// flow is one under way: through a gateway to the sink that counts it.
type flow struct {
	*sender
	sink *sink
}

func (f *flow) close() {
	if f.sender != nil {
		_ = f.conn.Close() // nothing is left to be sent
	}
	if f.sink != nil {
		f.sink.close()
	}
}

// open opens a flow from a port of the sender's that none had before: so it is another
// one for what remembers flows.
func (e *experiment) open(ctx context.Context, to netip.Addr, number int, at netns.Node, most int, epoch time.Time) (f flow, err error) {
	port := flowPorts[number]
	e.flows++
	f.sink, err = newSink(person{fmt.Sprintf("host%d", number+1), at}, port, e.flows, most, epoch, e.every())
	if err != nil {
		return f, err
	}
	local := netip.AddrPortFrom(e.sender.IP, uint16(20000+e.flows))
	conn, err := e.sender.DialFrom(ctx, "udp4", local, netip.AddrPortFrom(to, port).String())
	if err != nil {
		f.close()
		return flow{}, err
	}
	f.sender = newSender(conn, e.flows, epoch)
	return f, nil
}

// every is how long each rate is counted.
func (e *experiment) every() time.Duration { return e.window / 10 }

func (e *experiment) stop(context.Context) error {
	if err := e.gateway.stop(); err != nil {
		return err
	}
	e.tell.say("The gateway is asked to stop, and ends without an error.")
	return e.closeLab()
}
