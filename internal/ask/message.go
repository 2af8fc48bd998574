package ask

import (
	"encoding/json"
	"fmt"
	"net/netip"

	nfask "github.com/realmgate/realmgate/internal/nf/ask"
)

// Question is a line to the program: JSON, as every language reads it.
type Question struct {
	ID          uint64         `json:"id"`       // of the flow; an answer has the same
	Function    string         `json:"function"` // chain/function
	First       string         `json:"first"`    // what data are: packet, bytes
	Direction   string         `json:"direction"`
	Protocol    string         `json:"protocol"`
	Source      netip.AddrPort `json:"source"` // private hosts have their own addresses
	Destination netip.AddrPort `json:"destination"`
	Data        []byte         `json:"data"` // an IP packet, or all of the stream that has come
}

// Answer is a line from the program.
type Answer struct {
	ID      uint64 `json:"id"`
	Verdict string `json:"verdict"` // accept, drop, continue, more
	Mark    uint8  `json:"mark"`    // of continue
}

// more is a verdict that is none: what has come of a stream does not say enough.
const more = "more"

var verdicts = map[string]nfask.Says{"continue": nfask.Continue, "accept": nfask.Accept, "drop": nfask.Drop}

// parseAnswer reads a line. What it does not know is an error: the program speaks something else.
func parseAnswer(line []byte) (a Answer, err error) {
	if err := json.Unmarshal(line, &a); err != nil {
		return a, fmt.Errorf("read the program's answer: %w", err)
	}
	if _, known := verdicts[a.Verdict]; !known && a.Verdict != more {
		return a, fmt.Errorf("the program's verdict is %.32q: want accept, drop, continue or more", a.Verdict)
	}
	return a, nil
}
