package health

import (
	"strings"
	"time"
)

// Options say how many answers in a row change a state.
type Options struct {
	Rise int // good ones bring up what is down, from 1
	Fall int // bad ones bring down what is up, from 1
}

// State is what is known of an endpoint. Nobody has asked one that is new.
type State struct {
	Up     bool
	Since  time.Time // when it went up or down; for one that is as it began, when it was first asked
	Asked  bool
	Streak int    // answers in a row that speak against Up
	Fault  string // what the last answer had wrong, "" for nothing
}

// New is an endpoint that is up until somebody has asked it.
func New() State { return State{Up: true} }

// After is the state after an answer, fault nil for a good one. Where nothing is known
// yet the first answer decides: a gateway that starts knows at once who is down.
func (s State) After(o Options, at time.Time, fault error) State {
	s.Fault = ""
	if fault != nil {
		s.Fault = brief(fault.Error())
	}
	good := fault == nil
	if !s.Asked {
		return State{Up: good, Since: at, Asked: true, Fault: s.Fault}
	}
	if good == s.Up {
		s.Streak = 0
		return s
	}
	s.Streak++
	if s.Up && s.Streak >= o.Fall || !s.Up && s.Streak >= o.Rise {
		s.Up, s.Since, s.Streak = good, at, 0
	}
	return s
}

// mostFault bounds what is kept of an answer: a server may say anything. Bytes.
const mostFault = 200

func brief(text string) string {
	if len(text) <= mostFault {
		return text
	}
	return strings.ToValidUTF8(text[:mostFault], "") + "..."
}
