package wire

import (
	"encoding/json"
	"slices"
)

// Terms are what an edge offers, requires or has agreed to. What is empty is not said. The words are internal/edge/policy's.
type Terms struct {
	Vouched      string   `json:"vouched,omitempty"`
	Name         string   `json:"name,omitempty"`
	Confidential string   `json:"confidential,omitempty"`
	Hold         Seconds  `json:"hold,omitempty"`
	Limit        Limit    `json:"limit,omitzero"`
	Services     []string `json:"services,omitempty"` // "tcp/80", "icmp"
	Evidence     *bool    `json:"evidence,omitempty"`
	Unknown      []string `json:"-"` // keys that nobody knows, in order, at most MostUnknown: in require, they refuse
}

// Limit is how much the sessions of one pact may be: at a time, and new ones a second. 0: not said.
type Limit struct {
	Sessions uint32 `json:"sessions,omitempty"`
	Rate     uint32 `json:"rate,omitempty"`
}

// known are the keys of Terms.
var known = []string{"vouched", "name", "confidential", "hold", "limit", "services", "evidence"}

// UnmarshalJSON keeps the keys that nobody knows.
func (t *Terms) UnmarshalJSON(text []byte) error {
	type plain Terms
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(text, &keys); err != nil {
		return err
	}
	*t = Terms{}
	if err := json.Unmarshal(text, (*plain)(t)); err != nil {
		return err
	}
	for key := range keys {
		if !slices.Contains(known, key) {
			t.Unknown = append(t.Unknown, key)
		}
	}
	slices.Sort(t.Unknown)
	t.Unknown = t.Unknown[:min(len(t.Unknown), MostUnknown)]
	return nil
}
