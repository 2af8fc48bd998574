package api

import (
	"net/netip"
	"time"
)

// NamesTold is what the topic names tells: what was asked and answered, and which answers were used.
type NamesTold struct {
	Questions []Question `json:"questions,omitempty"`
	Claims    []Claim    `json:"claims,omitempty"`
	More      uint64     `json:"more,omitempty"` // questions that came too fast to be told
}

// Question is one that was answered.
type Question struct {
	Time      time.Time  `json:"time"`
	Side      string     `json:"side"` // public or private
	Transport string     `json:"transport"`
	Asker     netip.Addr `json:"asker"`
	Name      string     `json:"name"`
	Type      string     `json:"type"`
	Code      string     `json:"code"`              // of the answer, as NOERROR
	Answers   []string   `json:"answers,omitempty"` // at most four
	Cut       bool       `json:"cut,omitempty"`     // the asker has to come again by TCP
	Why       string     `json:"why,omitempty"`     // there is no answer
	Took      float64    `json:"took"`              // seconds
}

// Claim is that a client came by an answer.
type Claim struct {
	Time  time.Time  `json:"time"`
	Name  string     `json:"name"`
	Asker netip.Addr `json:"asker"`
	After float64    `json:"after"` // seconds since the answer
}
