package event

import "net/netip"

// EdgeUp is that the link to another edge is there.
type EdgeUp struct {
	Edge    string     `json:"edge"`
	Address netip.Addr `json:"address"` // where its tunnel ends
}

// Kind implements Event.
func (EdgeUp) Kind() Kind { return "edge_up" }

// EdgeDown is that it is gone. Pacts stand on until their leases end.
type EdgeDown struct {
	Edge  string `json:"edge"`
	Error string `json:"error,omitempty"`
}

// Kind implements Event.
func (EdgeDown) Kind() Kind { return "edge_down" }

// EdgeRefused is that somebody asked as an edge for what it may not: with a key that is not the edge's, or for names that it does not speak
// for. The same is told once a minute.
type EdgeRefused struct {
	From   string `json:"from,omitempty"` // address and port
	Edge   string `json:"edge,omitempty"` // that it says it is; left out: it has not said it
	Reason string `json:"reason"`
}

// Kind implements Event.
func (EdgeRefused) Kind() Kind { return "edge_refused" }

// PactOpened is that two edges have agreed on a host inside and a name behind the other.
type PactOpened struct {
	Edge   string     `json:"edge"`
	Host   netip.Addr `json:"host"`
	Local  string     `json:"local"`
	Remote string     `json:"remote"`
	Proxy  netip.Addr `json:"proxy"`
	Tag    string     `json:"tag"`
}

// Kind implements Event.
func (PactOpened) Kind() Kind { return "pact_opened" }

// PactRefused is that they have not. The same is told once a minute.
type PactRefused struct {
	Edge   string `json:"edge"`
	From   string `json:"from"`
	To     string `json:"to"`
	Reason string `json:"reason"` // a word, as the answers to hosts have it
	Ours   bool   `json:"ours"`   // we refuse; else the other edge does
}

// Kind implements Event.
func (PactRefused) Kind() Kind { return "pact_refused" }

// PactEnded is that a pact stands no more.
type PactEnded struct {
	Edge   string     `json:"edge"`
	Host   netip.Addr `json:"host"`
	Local  string     `json:"local"`
	Remote string     `json:"remote"`
	Proxy  netip.Addr `json:"proxy"`
	Tag    string     `json:"tag"`
	Reason string     `json:"reason"`
}

// Kind implements Event.
func (PactEnded) Kind() Kind { return "pact_ended" }
