package bench

import (
	"time"

	"github.com/realmgate/realmgate/internal/lab/bench/method"
)

// What a profile asks for: quick and paper are for a look, RFC keeps to RFC 2544 sections
// 23, 24 and 26, RFC 8219 section 7, and RFC 9693 section 4.
const (
	quickRepeat = 5
	rfcRepeat   = 20
)

// Repeat returns how many rounds count unless a person says otherwise.
func (p Profile) Repeat() int {
	if p == RFC {
		return rfcRepeat
	}
	return quickRepeat
}

// Goal returns the goal of searches unless a person says otherwise: others use a
// machine, too, that is only looked at quickly.
func (p Profile) Goal() method.Goal {
	if p == RFC {
		return method.Strict()
	}
	return method.Tolerant()
}

// Duration returns for how long frames of established sessions are sent in one
// trial (RFC 2544 section 24).
func (o Options) Duration() time.Duration {
	switch {
	case o.Smoke:
		return 50 * time.Millisecond
	case o.Profile == RFC:
		return time.Minute
	}
	return 250 * time.Millisecond // a search has dozens
}

// longest returns how long a trial of a search may take that sends every session.
func (o Options) longest() time.Duration {
	if o.Profile == RFC {
		return time.Minute
	}
	return 10 * time.Second
}

// straggle is how long a trial waits for frames that have not come (RFC 2544
// section 23).
func (o Options) straggle() time.Duration {
	switch {
	case o.Smoke:
		return 100 * time.Millisecond
	case o.Profile == RFC:
		return 2 * time.Second
	}
	return 300 * time.Millisecond
}

// settle is how long a trial leaves the device alone before it begins (RFC 2544
// section 23).
func (o Options) settle() time.Duration {
	if o.Profile == RFC && !o.Smoke {
		return 5 * time.Second
	}
	return 0
}
