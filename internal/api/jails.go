package api

import ()

// Jail is a log that is watched, and what was done since it is.
type Jail struct {
	Name      string   `json:"name"`
	File      string   `json:"file,omitempty"`
	Command   []string `json:"command,omitempty"`
	Lines     uint64   `json:"lines"`      // looked at
	Skipped   uint64   `json:"skipped"`    // too long to be looked at
	Failures  uint64   `json:"failures"`   // lines that a pattern describes, with an address
	NoAddress uint64   `json:"no_address"` // the same, but with something else in its place
	Offences  uint64   `json:"offences"`   // times that an address, or a /64, had enough failures
	Forgotten uint64   `json:"forgotten"`  // of those, no longer counted, in favour of newer ones
	Ends      uint64   `json:"ends"`       // of the command
	Error     string   `json:"error"`      // what is wrong now; empty: nothing
	Stderr    string   `json:"stderr"`     // last line of the command's standard error
}
