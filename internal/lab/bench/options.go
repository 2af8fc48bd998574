package bench

import (
	"fmt"
	"runtime"
	"slices"

	"github.com/realmgate/realmgate/internal/lab/bench/method"
	"github.com/realmgate/realmgate/internal/lab/bench/trafficgen"
)

// Mode is how tester and device share the CPUs.
type Mode string

// SelfClocked runs everything on one CPU: the tester sends the next frames when
// the device is done with these, so that none is ever lost and a rate tells the
// cost of a packet. Paced sends at a given rate from one CPU while the device
// works on another, by threaded NAPI, and loses what it cannot do.
const (
	SelfClocked Mode = "self-clocked"
	Paced       Mode = "paced"
)

// Profile is how much trouble a run takes.
type Profile string

// Quick is for a look, in minutes; Paper has all points of the papers' tables at the
// same durations; RFC keeps to the durations and repetitions of RFC 2544 and 9693 where
// a machine allows it, and has all points, too.
const (
	Quick Profile = "quick"
	Paper Profile = "paper"
	RFC   Profile = "rfc"
)

// Profiles lists them, from the shortest to the longest.
func Profiles() []string { return []string{string(Quick), string(Paper), string(RFC)} }

// Options is what a person chose.
type Options struct {
	Devices   []Model // in the order of their columns; the first is the baseline
	Null      Model   // the control that runs beside them
	Sessions  int
	Hosts     int // inside that send, each from its own address
	Repeat    int
	Profile   Profile
	Mode      Mode
	Length    int // octets of a frame, its check sequence with it
	Direction trafficgen.Direction
	External  External    // where an external device stands
	CPU       int         // that the tester runs on
	Search    method.Goal // of searches in the paced set-up
	Rate      float64     // frames per second, where a scenario takes one; 0 is what it chooses itself
	Capture   string      // a file in the format of pcap, to be replayed
	Smoke     bool        // every trial as short as can be
	ModelOnly bool        // compute what can be computed, and measure nothing

	Executable string // the realmgate program
	Command    string // as it was given
	Progress   func(Progress)
}

// Progress is how far a run is.
type Progress struct {
	Done, Total int
	What        string
}

// Limits of the options.
const (
	MostSessions = 64_000_000
	MostHosts    = 256
	MostRepeat   = 1000
)

// Check returns an error that says which option is wrong.
func (o Options) Check() error {
	for i, m := range o.Devices {
		if slices.ContainsFunc(o.Devices[:i], func(n Model) bool { return n.Name == m.Name }) {
			return fmt.Errorf("device %s is named twice", m.Name)
		}
	}
	switch {
	case len(o.Devices) == 0:
		return fmt.Errorf("name at least one device")
	case o.Sessions < 1 || o.Sessions > MostSessions:
		return fmt.Errorf("%d sessions: want 1 to %d", o.Sessions, MostSessions)
	case o.Hosts < 1 || o.Hosts > MostHosts:
		return fmt.Errorf("%d hosts: want 1 to %d", o.Hosts, MostHosts)
	case o.Repeat < 1 || o.Repeat > MostRepeat:
		return fmt.Errorf("%d repetitions: want 1 to %d", o.Repeat, MostRepeat)
	case o.Length < 64 || o.Length > 1518:
		return fmt.Errorf("frames of %d octets: want 64 to 1518", o.Length)
	case o.Rate != 0 && !(o.Rate >= leastRate && o.Rate <= trafficgen.MaxRate):
		return fmt.Errorf("a rate of %g/s: want %d to %g", o.Rate, leastRate, trafficgen.MaxRate)
	}
	for _, m := range o.Devices {
		if m.External && o.Hosts > 1 {
			return fmt.Errorf("%d hosts: an external box is measured with 1", o.Hosts)
		}
		if m.External {
			return o.External.check()
		}
	}
	return o.checkPaced(runtime.NumCPU())
}

func (o Options) describe(s Scenario) map[string]string {
	if o.Mode == "" { // no traffic is sent
		return map[string]string{}
	}
	described := map[string]string{
		"profile": string(o.Profile), "set-up": string(o.Mode), "sessions": fmt.Sprint(o.Sessions), "hosts": fmt.Sprint(o.Hosts),
		"repeat": fmt.Sprint(o.Repeat), "frame": fmt.Sprintf("%d octets", o.Length),
		"cpu": fmt.Sprint(o.CPU),
	}
	if s.Directed {
		described["direction"] = o.Direction.String()
	}
	if o.Rate > 0 {
		described["rate"] = fmt.Sprintf("%g/s", o.Rate)
	}
	if o.Mode == Paced {
		described["device's cpu"] = fmt.Sprint(o.DeviceCPU())
		described["search"] = fmt.Sprintf("at most %g %% of the frames lost in %g %% of up to %d trials at a rate, bounds within %g %%",
			100*o.Search.Loss, 100*(1-o.Search.Exceed), o.Search.Trials, 100*o.Search.Width)
	}
	return described
}
