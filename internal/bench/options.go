package bench

import (
	"fmt"
	"time"

	"github.com/realmgate/realmgate/internal/bench/trafficgen"
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

// Quick is for a look, in minutes; RFC keeps to the durations and repetitions of
// RFC 2544 and 9693 where a machine allows it.
const (
	Quick Profile = "quick"
	RFC   Profile = "rfc"
)

// Options is what a person chose.
type Options struct {
	Devices   []Model // in the order of their columns; the first is the baseline
	Null      Model   // the control that runs beside them
	Sessions  int
	Repeat    int
	Profile   Profile
	Mode      Mode
	Length    int // octets of a frame, its check sequence with it
	Direction trafficgen.Direction
	CPU       int // that the tester runs on
	Smoke     bool
	ModelOnly bool // compute what can be computed, and measure nothing

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
	MostRepeat   = 1000
)

// Check returns an error that says which option is wrong.
func (o Options) Check() error {
	switch {
	case len(o.Devices) == 0:
		return fmt.Errorf("name at least one device")
	case o.Sessions < 1 || o.Sessions > MostSessions:
		return fmt.Errorf("%d sessions: want 1 to %d", o.Sessions, MostSessions)
	case o.Repeat < 1 || o.Repeat > MostRepeat:
		return fmt.Errorf("%d repetitions: want 1 to %d", o.Repeat, MostRepeat)
	case o.Length < 64 || o.Length > 1518:
		return fmt.Errorf("frames of %d octets: want 64 to 1518", o.Length)
	}
	return nil
}

func (o Options) describe() map[string]string {
	return map[string]string{
		"profile": string(o.Profile), "set-up": string(o.Mode), "sessions": fmt.Sprint(o.Sessions),
		"repeat": fmt.Sprint(o.Repeat), "frame": fmt.Sprintf("%d octets", o.Length), "direction": o.Direction.String(),
		"cpu": fmt.Sprint(o.CPU),
	}
}

// straggle is how long a trial waits for frames that have not come (RFC 2544
// section 26.1 has 2 s).
func (o Options) straggle() time.Duration {
	if o.Profile == RFC {
		return 2 * time.Second
	}
	return 300 * time.Millisecond
}
