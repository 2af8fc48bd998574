package demo

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/realmgate/realmgate/internal/client"
)

// Flow is what was seen of a flow of figure 7.2. Rates are bits of IP packets a second.
type Flow struct {
	Port   uint16     `json:"port"`
	Host   netip.Addr `json:"host"`
	Rates  []float64  `json:"rates"` // at the host, one after the other
	Phases []Phase    `json:"phases"`
	// Denied is what dos-denial says that it dropped.
	Denied uint64 `json:"denied"`
}

// lost is how many packets did not arrive that should have.
func (f Flow) lost() (sum int) {
	for _, p := range f.Phases {
		sum += p.Lost
	}
	return sum
}

// Phase is a third of the experiment: packets of what was sent then. Those of which it is
// not certain in which window they were are Border, and the others all of one fate.
type Phase struct {
	Rate    float64 `json:"rate"` // that was asked for
	Sent    int     `json:"sent"`
	Arrived int     `json:"arrived"`
	// SentRate and ArrivedRate are the same in bits of IP packets a second.
	SentRate    float64 `json:"sent_rate"`
	ArrivedRate float64 `json:"arrived_rate"`
	Border      int     `json:"border"`
	// Lost did not arrive though they should have; Leaked did though they should not.
	Lost   int `json:"lost"`
	Leaked int `json:"leaked"`
}

// errBusy is a machine that did not let the sender send as it should have.
var errBusy = errors.New("the machine is too busy: the second phase was not sent within a window")

// deny is Hanna's experiment 1.
func (e *experiment) deny(ctx context.Context) error {
	e.tell.note("Both flows send at 3 rates, "+e.window.String()+" each. The threshold is "+e.threshold+", in windows of "+e.window.String()+":",
		"what brought more in one is dropped in all of the next.", "",
		"   TIME    SENT   HOST1   HOST2   Mbit/s")
	for attempt := 1; ; attempt++ {
		err := e.tryDeny(ctx)
		if !errors.Is(err, errBusy) || attempt == e.attempts {
			return errors.Join(err, e.judge(err))
		}
		e.tell.note("The machine was too busy to send that: again.")
	}
}

func (e *experiment) tryDeny(ctx context.Context) (err error) {
	before, err := e.gateway.client.Chains(ctx)
	if err != nil {
		return err
	}
	epoch := time.Now()
	flows := make([]flow, len(flowPorts))
	defer func() {
		for _, f := range flows {
			f.close()
		}
	}()
	for i := range flows {
		if flows[i], err = e.open(ctx, e.through.PublicAddress, i, e.through.Hosts[i], e.packets(), epoch); err != nil {
			return err
		}
	}
	if err := e.sendAll(ctx, flows, e.phases()); err != nil {
		return err
	}
	after, err := e.gateway.client.Chains(ctx)
	if err != nil {
		return err
	}
	e.measured.Every, e.measured.Flows = e.every().Seconds(), nil
	for i := range flows {
		f := &flows[i]
		f.close() // its sink has all that came
		seen, err := e.seen(f)
		if err != nil {
			return err
		}
		seen.Port, seen.Host = flowPorts[i], e.through.Hosts[i].IP
		seen.Denied = denied(after, i) - denied(before, i)
		e.measured.Flows = append(e.measured.Flows, seen)
	}
	e.tell.see("every_seconds", e.measured.Every)
	e.tell.see("flows", e.measured.Flows)
	return nil
}

// denied is what the first function of a chain has dropped.
func denied(chains []client.Chain, number int) uint64 { return chains[number].Functions[0].Dropped }

func (e *experiment) phases() (list []phase) {
	for _, rate := range e.rates {
		list = append(list, phase{rate, e.window})
	}
	return list
}

// packets is how many a flow sends.
func (e *experiment) packets() (sum int) {
	for _, p := range e.phases() {
		sum += p.packets()
	}
	return sum
}

// sendAll sends the flows at once, and tells what arrives meanwhile.
func (e *experiment) sendAll(ctx context.Context, flows []flow, phases []phase) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	failed := make(chan error, len(flows))
	for i := range flows {
		go func() { failed <- first(func() error { return flows[i].send(ctx, phases) }) }()
	}
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		e.watch(ctx, flows)
	}()
	err := errors.Join(<-failed, <-failed)
	if err != nil {
		cancel()
	}
	<-watched
	return err
}

// watch tells what arrived, a line for each time that is over.
func (e *experiment) watch(ctx context.Context, flows []flow) {
	every := e.every()
	for place := range int(time.Duration(len(e.rates)) * e.window / every) {
		if rest(ctx, time.Duration(place+1)*every-time.Since(flows[0].epoch)) != nil {
			return
		}
		sent := e.rates[min(int(time.Duration(place)*every/e.window), len(e.rates)-1)]
		first, second := flows[0].sink.rate(place), flows[1].sink.rate(place)
		e.tell.note(strings.TrimRight(fmt.Sprintf("%5.1f s %7.1f %7.1f %7.1f   %s", (time.Duration(place+1)*every).Seconds(), sent/1e6,
			first/1e6, second/1e6, bar(first, second, e.rates[1])), " "))
	}
}

// bar draws the mean of two rates.
func bar(first, second, most float64) string {
	const widest = 30
	return strings.Repeat("#", min(widest, int((first+second)/2/most*widest+0.5)))
}

// seen judges packet by packet what arrived of a flow.
func (e *experiment) seen(f *flow) (seen Flow, err error) {
	bytes := e.rates[2] * e.window.Seconds() / 8 // the threshold is the third phase's rate
	w, ok := windowsOf(f.sent, e.window, int(bytes)/packetLength)
	if !ok {
		return seen, errBusy
	}
	seen.Phases = make([]Phase, len(e.rates))
	for i := range seen.Phases {
		seen.Phases[i].Rate = e.rates[i]
	}
	for _, b := range f.sent {
		p := &seen.Phases[min(max(0, int((b.before-w.first)/e.window)), len(e.rates)-1)]
		arrived := 0
		for _, came := range f.sink.came[b.first : b.first+b.count] {
			if came {
				arrived++
			}
		}
		p.Sent += b.count
		p.Arrived += arrived
		switch w.fate(b) {
		case passes:
			p.Lost += b.count - arrived
		case dropped:
			p.Leaked += arrived
		case either:
			p.Border += b.count
		}
	}
	for i := range seen.Phases {
		p := &seen.Phases[i]
		p.SentRate = float64(p.Sent) * packetBits / e.window.Seconds()
		p.ArrivedRate = float64(p.Arrived) * packetBits / e.window.Seconds()
	}
	for place := range int(time.Duration(len(e.rates)) * e.window / e.every()) {
		seen.Rates = append(seen.Rates, f.sink.rate(place))
	}
	return seen, expect("packets of another flow", f.sink.strange, 0)
}

// mostLost is the share of packets that a busy machine may lose on the way.
const mostLost = 0.01

// judge says whether it is what figure 7.2 shows.
func (e *experiment) judge(failed error) error {
	if failed != nil {
		return nil
	}
	var wrong []error
	for i, f := range e.measured.Flows {
		for n, p := range f.Phases {
			which := fmt.Sprintf("flow %d at %g Mbit/s", i+1, p.Rate/1e6)
			if float64(p.Lost) > mostLost*float64(p.Sent) {
				wrong = append(wrong, mismatch{which, "all packets arrive", fmt.Sprintf("%d of %d are missing", p.Lost, p.Sent)})
			}
			if p.Leaked > 0 {
				wrong = append(wrong, mismatch{which, "nothing arrives", fmt.Sprintf("%d of %d packets", p.Leaked, p.Sent)})
			}
			if n == len(f.Phases)-1 && float64(p.Border) > mostBorder*float64(p.Sent) {
				wrong = append(wrong, mismatch{which, "a window that begins with the phase", fmt.Sprintf("%d of %d packets before it", p.Border, p.Sent)})
			}
		}
		last := f.Phases[len(f.Phases)-1]
		if least := (1 - mostLost) * float64(last.Sent-last.Border); float64(f.Denied) < least {
			wrong = append(wrong, mismatch{fmt.Sprintf("what dos-denial of flow %d dropped", i+1), fmt.Sprintf("at least %.0f", least), fmt.Sprint(f.Denied)})
		}
	}
	if len(wrong) > 0 {
		return errors.Join(wrong...)
	}
	e.measured.Shown = true
	e.tell.note("")
	e.tell.say("Both flows alike: %s Mbit/s pass, then nothing: as figure 7.2.", e.passed())
	for i, f := range e.measured.Flows {
		e.tell.note(fmt.Sprintf("flow %d: dos-denial dropped %d packets; %d others did not arrive.", i+1, f.Denied, f.lost()))
	}
	e.tell.see("shown", true)
	return nil
}

// mostBorder is the share of the last phase that may be over before the window that
// drops it begins.
const mostBorder = 0.2

// passed is the mean rates of the phases that pass.
func (e *experiment) passed() string {
	var rates []string
	for n := range len(e.rates) - 1 {
		sum := 0.0
		for _, f := range e.measured.Flows {
			sum += f.Phases[n].ArrivedRate
		}
		rates = append(rates, fmt.Sprintf("%.0f", sum/float64(len(e.measured.Flows))/1e6))
	}
	return strings.Join(rates, " and ")
}
