package api

import (
	"errors"
	"time"
)

// mostLists bounds what one request names.
const mostLists = 1000

// List is a list of addresses that somebody else publishes.
type List struct {
	Name     string    `json:"name"`
	Source   string    `json:"source"`             // its URL, without a password
	Entries  int       `json:"entries"`            // lines with addresses, of IPv4 and IPv6
	LeftOut  int       `json:"left_out"`           // lines that could not be read
	Fetched  time.Time `json:"fetched,omitzero"`   // when the copy in force came; left out: there is none
	Checked  time.Time `json:"checked,omitzero"`   // when it was last known to be the newest
	Failures int       `json:"failures,omitempty"` // attempts without an answer that can be used, in a row
	Error    string    `json:"error,omitempty"`    // of the last attempt
	Next     time.Time `json:"next,omitzero"`      // when it is fetched next; left out: now
}

// ListRequest says which lists to fetch now.
type ListRequest struct {
	Lists []string `json:"lists,omitempty"` // none: all
	Force bool     `json:"force,omitempty"` // take a copy that has shrunk, too
}

// ListChange says how many lists are fetched now.
type ListChange struct {
	Lists int `json:"lists"`
}

func validLists(r ListRequest) error {
	if len(r.Lists) > mostLists {
		return errors.New("too many lists are named")
	}
	return nil
}
