package wire

import (
	"net/netip"

	"github.com/realmgate/realmgate/internal/model"
)

// Message is one of the types of this file and its neighbours, as a value: Decode returns an Open, never an *Open.
type Message interface {
	Type() string // the word of "type"
	check() error // that it keeps its bounds
}

// kinds are the types that Decode knows, by their words.
var kinds = map[string]func([]byte) (Message, error){
	"hello": decode[Hello], "epoch": decode[Epoch], "open": decode[Open], "accept": decode[Accept], "more": decode[More],
	"refuse": decode[Refuse], "close": decode[Close], "renew": decode[Renew], "renewed": decode[Renewed], "resume": decode[Resume],
	"resumed": decode[Resumed], "ping": decode[Ping], "probed": decode[Probed], "leave": decode[Leave],
}

// Hello is the first message of each side: who it is, and how it is reached through the tunnel.
type Hello struct {
	Name         model.Name   `json:"name"`     // of the edge
	Process      string       `json:"process"`  // 16 hexadecimal digits, drawn at each start
	Versions     [2]int       `json:"versions"` // least and most that it speaks
	Zones        []model.Name `json:"zones,omitempty"`
	Locators     []Locator    `json:"locators,omitempty"`
	Serial       uint64       `json:"serial"`        // of the locators, rising
	VNI          uint32       `json:"vni"`           // 24 bits: write this to reach me
	Epoch        uint8        `json:"epoch"`         // 0 to 127: send with this key
	MTU          int          `json:"mtu,omitempty"` // octets of the longest inner packet, 0: not said
	Confidential string       `json:"confidential,omitempty"`
	Limits       Limits       `json:"limits,omitzero"`
}

// Locator is where an edge takes tunnel packets (RFC 9300).
type Locator struct {
	Address  netip.Addr `json:"address"`
	Port     uint16     `json:"port,omitempty"` // 0: GENEVEPort
	Priority int        `json:"priority,omitempty"`
	Weight   int        `json:"weight,omitempty"`
}

// Limits are what an edge takes of its peer: pacts at a time, opens a second. 0: not said.
type Limits struct {
	Pacts int `json:"pacts,omitempty"`
	Opens int `json:"opens,omitempty"`
}

// Epoch says that the key of the epoch is in the sender's kernel: send with it from now on.
type Epoch struct {
	Epoch uint8 `json:"epoch"` // 0 to 127
}

// Open asks for a pact between a host of the sender and a name of the receiver.
type Open struct {
	ID      uint64     `json:"id"` // the sender's; the answer has it
	From    model.Name `json:"from"`
	To      model.Name `json:"to"`
	Host    HostID     `json:"host"`
	Tag     Tag        `json:"tag"` // the sender's
	Offer   Terms      `json:"offer,omitzero"`
	Require Terms      `json:"require,omitzero"`
	Hold    Seconds    `json:"hold,omitempty"`
	Pact    *Pair      `json:"pact,omitempty"` // widen that one
	Round   int        `json:"round"`          // 1, or 2 after More
}

// Accept answers Open: the pact is in the sender's kernel.
type Accept struct {
	ID    uint64 `json:"id"`
	Tag   Tag    `json:"tag"` // the sender's
	Host  HostID `json:"host"`
	Terms Terms  `json:"terms,omitzero"`
}

// More answers Open: the requirements are not met, but could be. The opener says Open again, with the same ID and Round 2.
type More struct {
	ID      uint64 `json:"id"`
	Require Terms  `json:"require,omitzero"`
}

// Refuse answers Open: no, and why.
type Refuse struct {
	ID     uint64  `json:"id"`
	Reason Refusal `json:"reason"`
	Text   string  `json:"text,omitempty"`  // for people
	Retry  Seconds `json:"retry,omitempty"` // not before; 0: not said
}

// Close ends pacts: they are in the sender's kernel no longer.
type Close struct {
	Pacts  []Pair `json:"pacts"`
	Reason string `json:"reason"`
}

// Renew asks to prolong the leases of pacts to Hold from now.
type Renew struct {
	Pacts []Pair  `json:"pacts"`
	Hold  Seconds `json:"hold"`
}

// Renewed answers Renew: which pacts are prolonged, and which the sender does not have. Pairs are the sender's view.
type Renewed struct {
	Pacts []Pair `json:"pacts,omitempty"`
	Gone  []Pair `json:"gone,omitempty"`
}

// Resume lists the pacts that the sender has, after a link came up. More says that another Resume follows.
type Resume struct {
	Pacts []Kept `json:"pacts,omitempty"`
	More  bool   `json:"more,omitempty"`
}

// Kept is a pact of Resume. From and To are as the Open had them; for a host of its own, the sender may say its own name.
type Kept struct {
	Pair
	From model.Name `json:"from"`
	To   model.Name `json:"to"`
}

// Resumed answers Resume: which of the pacts the sender does not have. Pairs are the sender's view.
type Resumed struct {
	Gone []Pair `json:"gone,omitempty"`
}

// Ping asks whether the other is there, and answers with the same ID.
type Ping struct {
	ID     uint64 `json:"id"`
	Answer bool   `json:"answer,omitempty"`
}

// Probed says that a probe came through the tunnel: Size octets of its outer packet, whole.
type Probed struct {
	Nonce uint64 // of the probe; 16 hexadecimal digits in JSON
	Size  int
}

// Leave says that the sender stops, and that all its pacts are over.
type Leave struct {
	Reason string `json:"reason,omitempty"`
}

// Pair are the two tags of a pact, as the sender of the message sees them.
type Pair struct {
	Mine  Tag `json:"mine"`
	Yours Tag `json:"yours"`
}

// Type returns "hello".
func (Hello) Type() string { return "hello" }

// Type returns "epoch".
func (Epoch) Type() string { return "epoch" }

// Type returns "open".
func (Open) Type() string { return "open" }

// Type returns "accept".
func (Accept) Type() string { return "accept" }

// Type returns "more".
func (More) Type() string { return "more" }

// Type returns "refuse".
func (Refuse) Type() string { return "refuse" }

// Type returns "close".
func (Close) Type() string { return "close" }

// Type returns "renew".
func (Renew) Type() string { return "renew" }

// Type returns "renewed".
func (Renewed) Type() string { return "renewed" }

// Type returns "resume".
func (Resume) Type() string { return "resume" }

// Type returns "resumed".
func (Resumed) Type() string { return "resumed" }

// Type returns "ping".
func (Ping) Type() string { return "ping" }

// Type returns "probed".
func (Probed) Type() string { return "probed" }

// Type returns "leave".
func (Leave) Type() string { return "leave" }
