package api

import (
	"github.com/realmgate/realmgate/internal/events/event"
)

// Sink is where events go, and what became of them since it runs. Every event that it was
// to have is delivered, lost or queued.
type Sink struct {
	Name      string       `json:"name"`
	File      string       `json:"file,omitempty"`
	Command   []string     `json:"command,omitempty"`
	Webhook   string       `json:"webhook,omitempty"`  // scheme and host: the rest may be secret
	Mail      []string     `json:"mail,omitempty"`     // whom it is sent to
	Telegram  string       `json:"telegram,omitempty"` // the chat
	Kinds     []event.Kind `json:"kinds,omitempty"`    // that it is told; left out: all
	Delivered uint64       `json:"delivered"`
	Lost      uint64       `json:"lost"`
	Queued    int          `json:"queued"`
	Failures  uint64       `json:"failures"` // times that something went wrong
	Error     string       `json:"error"`    // what is wrong now; empty: nothing
}
