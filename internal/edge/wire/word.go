package wire

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
)

// Tag names a pact within the edge that gave it, which is never 0: eight hexadecimal digits behind 0x.
type Tag uint32

// String returns the tag as messages have it.
func (t Tag) String() string { return fmt.Sprintf("0x%08x", uint32(t)) }

// MarshalText writes what String does.
func (t Tag) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText reads what MarshalText wrote, and nothing else.
func (t *Tag) UnmarshalText(text []byte) error {
	if len(text) != 10 || string(text[:2]) != "0x" {
		return fmt.Errorf("tag %q is not 0x and eight hexadecimal digits", text)
	}
	n, err := digits(text[2:])
	*t = Tag(n)
	return err
}

// HostID tells whether a name stands for the same machine as last time, and nothing else about it: 16 hexadecimal digits.
type HostID uint64

// MarshalText writes 16 digits.
func (h HostID) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "%016x", uint64(h)), nil }

// UnmarshalText reads what MarshalText wrote, and nothing else.
func (h *HostID) UnmarshalText(text []byte) error {
	if len(text) != 16 {
		return fmt.Errorf("%q is not 16 hexadecimal digits", text)
	}
	n, err := digits(text)
	*h = HostID(n)
	return err
}

// digits reads lower-case hexadecimal digits, at most 16.
func digits(text []byte) (uint64, error) {
	for _, c := range text {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return 0, fmt.Errorf("%q has more than the digits 0 to 9 and a to f", text)
		}
	}
	return strconv.ParseUint(string(text), 16, 64)
}

// probed is Probed as JSON has it.
type probed struct {
	Nonce HostID `json:"nonce"`
	Size  int    `json:"size"`
}

// MarshalJSON writes the nonce as 16 hexadecimal digits.
func (p Probed) MarshalJSON() ([]byte, error) { return json.Marshal(probed{HostID(p.Nonce), p.Size}) }

// UnmarshalJSON reads what MarshalJSON wrote.
func (p *Probed) UnmarshalJSON(text []byte) error {
	var read probed
	err := json.Unmarshal(text, &read)
	*p = Probed{uint64(read.Nonce), read.Size}
	return err
}

// Seconds is a duration in whole seconds.
type Seconds uint32

// Refusal is why an Open is refused. A newer edge may know more words than these.
type Refusal string

// The words of Refuse, which are also those of events, metrics and DNS answers.
const (
	RefusedPolicy      Refusal = "policy"              // no rule lets it in, or one denies it
	RefusedName        Refusal = "unknown_name"        // no host has the name
	RefusedClosed      Refusal = "closed_service"      // the host opens nothing of it
	RefusedVouched     Refusal = "vouched"             // the edge is not vouched for as well as required
	RefusedUndisclosed Refusal = "name_undisclosed"    // the asker's name is required
	RefusedConfidence  Refusal = "confidential"        // one side requires what the other forbids
	RefusedServices    Refusal = "services"            // what is asked for and what is offered have nothing in common
	RefusedSource      Refusal = "source_zone"         // the opener does not speak for the asker's name
	RefusedTarget      Refusal = "target_zone"         // the name is in no zone of the receiver
	RefusedQuota       Refusal = "quota"               // the peer has as many pacts, or opens a second, as it may
	RefusedExhausted   Refusal = "exhausted"           // no number or proxy address is free
	RefusedTooMany     Refusal = "too_many_services"   // more than a pact has room for
	RefusedRequirement Refusal = "unknown_requirement" // a word of require that the receiver does not know
	RefusedVersion     Refusal = "version"             // no version in common
	RefusedStopping    Refusal = "stopping"            // the receiver stops
	RefusedBusy        Refusal = "busy"                // the receiver has too much under way
)

// Refusals are all words of Refuse.
var Refusals = []Refusal{
	RefusedPolicy, RefusedName, RefusedClosed, RefusedVouched, RefusedUndisclosed, RefusedConfidence, RefusedServices, RefusedSource,
	RefusedTarget, RefusedQuota, RefusedExhausted, RefusedTooMany, RefusedRequirement, RefusedVersion, RefusedStopping, RefusedBusy,
}

// Known reports whether the word is one of Refusals: what is not is counted and shown as one.
func (r Refusal) Known() bool { return slices.Contains(Refusals, r) }
