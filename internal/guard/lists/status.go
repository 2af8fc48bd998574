package lists

import "time"

// Status is what there is to know of a list.
type Status struct {
	Name, Source string // the source without its password
	Entries      int
	Faults       int           // lines of the copy in force that were left out
	Fetched      time.Time     // when the copy in force came; zero: there is none
	Checked      time.Time     // when it was last known to be the newest
	Age          time.Duration // since then
	Failures     int           // attempts without an answer that can be used, in a row
	Error        string        // of the last attempt, and of the disk; empty: all is well
	Next         time.Time     // zero: at once
}

// Status says how the list is. Name and Source are the caller's to fill in.
func (s *State) Status(now time.Time) Status {
	status := Status{Fetched: s.fetched, Checked: s.checked, Failures: s.failures, Next: s.next}
	if s.list != nil {
		status.Entries, status.Faults = s.list.Entries, s.list.Faults
		status.Age = max(now.Sub(s.checked), 0)
	}
	if s.err != nil {
		status.Error = s.err.Error()
	}
	return status
}
