package event

import (
	"fmt"
	"net/netip"
	"strings"
	"time"
)

// Kind says what an event is about, as the configuration and each line have it.
type Kind string

// String returns the word.
func (k Kind) String() string { return string(k) }

// Event is what happened, without when: one of the types below.
type Event interface{ Kind() Kind }

// All has one of each.
func All() []Event {
	return []Event{
		Start{},
		Stop{},
		Reload{},
		Confirmed{},
		RolledBack{},
		Ban{},
		Unban{},
		ListFailed{},
		ListRecovered{},
		PoolExhausted{},
		PoolRecovered{},
		Outbound{},
		JailFailed{},
		JailRecovered{},
		ChainChanged{},
		HostWeak{},
		CertificateShared{},
		ProgramFailed{},
		ProgramRecovered{},
		WebFull{},
		WebRecovered{},
		LoginFailed{},
		HostRegistered{},
		HostEnded{},
		EdgeUp{},
		EdgeDown{},
		EdgeRefused{},
		PactOpened{},
		PactRefused{},
		PactEnded{},
	}
}

// Kinds returns all of them.
func Kinds() []Kind {
	var kinds []Kind
	for _, e := range All() {
		kinds = append(kinds, e.Kind())
	}
	return kinds
}

const (
	// MostNamed is how many prefixes an event is about at most. Its line stays below 8 KiB,
	// which is what rsyslog takes of a message.
	MostNamed = 128
	// longestText is how much of an error's text an event has, in bytes.
	longestText = 1024
)

// Start is that the daemon begins, with its configuration in force.
type Start struct {
	Version    string `json:"version"`
	PID        int    `json:"pid"`
	Config     string `json:"config"` // its file
	Generation uint32 `json:"generation"`
	Adopted    bool   `json:"adopted"` // took over an earlier daemon's data plane
}

// Kind implements Event.
func (Start) Kind() Kind { return "start" }

// Stop is the last event of a daemon that ends.
type Stop struct {
	Error string `json:"error,omitempty"` // why it ended by itself
}

// Kind implements Event.
func (Stop) Kind() Kind { return "stop" }

// Reload is a configuration that was put into force, or refused.
type Reload struct {
	Generation uint32 `json:"generation,omitempty"` // that is in force now; left out where refused
	Confirm    int    `json:"confirm,omitempty"`    // seconds after which it is undone, unless it is confirmed
	Error      string `json:"error,omitempty"`      // why it was refused and changed nothing
}

// Kind implements Event.
func (Reload) Kind() Kind { return "reload" }

// Confirmed is a reload that was confirmed in time.
type Confirmed struct {
	Generation uint32 `json:"generation"` // that is in force
}

// Kind implements Event.
func (Confirmed) Kind() Kind { return "reload_confirmed" }

// RolledBack is an earlier configuration that came back, or should have.
type RolledBack struct {
	Generation  uint32   `json:"generation,omitempty"`  // that is in force now; left out: it is not yet
	To          int      `json:"to,omitempty"`          // its number in the history; left out: it is not there
	Unconfirmed bool     `json:"unconfirmed,omitempty"` // by itself, as nobody had confirmed a reload
	Kept        []string `json:"kept,omitempty"`        // files with what was replaced
	Error       string   `json:"error,omitempty"`       // what went wrong with it
}

// Kind implements Event.
func (RolledBack) Kind() Kind { return "rolled_back" }

// Ban is prefixes that were banned at once.
type Ban struct {
	Prefixes []netip.Prefix `json:"prefixes"`       // at most MostNamed
	Count    int            `json:"count"`          // of them
	Until    time.Time      `json:"until,omitzero"` // when the last ban of them ends; left out: never
	Reason   string         `json:"reason"`
}

// Kind implements Event.
func (Ban) Kind() Kind { return "ban" }

// Unban is prefixes whose bans ended at once.
type Unban struct {
	Prefixes []netip.Prefix `json:"prefixes"` // at most MostNamed
	Count    int            `json:"count"`    // of them
	Reason   string         `json:"reason"`   // expired, removed, evicted or aggregated
}

// Kind implements Event.
func (Unban) Kind() Kind { return "unban" }

// ListFailed is a list that cannot be refreshed from now on.
type ListFailed struct {
	List  string `json:"list"`
	Error string `json:"error"`
}

// Kind implements Event.
func (ListFailed) Kind() Kind { return "list_failed" }

// ListRecovered is a list that can be refreshed again.
type ListRecovered struct {
	List string `json:"list"`
}

// Kind implements Event.
func (ListRecovered) Kind() Kind { return "list_recovered" }

// PoolExhausted is a pool that had no address for a name, for the first time for a while.
type PoolExhausted struct {
	Addresses int `json:"addresses"` // of the pool
}

// Kind implements Event.
func (PoolExhausted) Kind() Kind { return "pool_exhausted" }

// PoolRecovered is a pool that has had an address for every name for a while.
type PoolRecovered struct {
	Refused uint64 `json:"refused"` // questions, since it was exhausted
}

// Kind implements Event.
func (PoolRecovered) Kind() Kind { return "pool_recovered" }

// Outbound is that outbound addresses came, or left with their sessions.
type Outbound struct {
	Came      []netip.Addr `json:"came,omitempty"`
	Left      []netip.Addr `json:"left,omitempty"`
	Ended     int          `json:"ended"`
	Addresses []netip.Addr `json:"addresses"` // of now
}

// Kind implements Event.
func (Outbound) Kind() Kind { return "outbound_changed" }

// JailFailed is a jail that cannot read its log from now on.
type JailFailed struct {
	Jail  string `json:"jail"`
	Error string `json:"error"`
}

// Kind implements Event.
func (JailFailed) Kind() Kind { return "jail_failed" }

// JailRecovered is a jail that reads its log again.
type JailRecovered struct {
	Jail string `json:"jail"`
}

// Kind implements Event.
func (JailRecovered) Kind() Kind { return "jail_recovered" }

// ChainChanged is a chain that a command changed, until the next reload or for good.
type ChainChanged struct {
	Chain      string   `json:"chain"`
	Functions  []string `json:"functions"` // by name, in order
	Generation uint32   `json:"generation"`
}

// Kind implements Event.
func (ChainChanged) Kind() Kind { return "chain_changed" }

// HostWeak is a host of the web that can less than others at its web address, or than a client was promised there.
type HostWeak struct {
	Host       string     `json:"host"`
	Address    netip.Addr `json:"address"` // of the web
	MSS        uint16     `json:"mss"`     // octets
	SACK       bool       `json:"sack"`
	Timestamps bool       `json:"timestamps"`
	Ended      bool       `json:"ended"` // a client's connection has ended for it
}

// Kind implements Event.
func (HostWeak) Kind() Kind { return "host_weak" }

// CertificateShared is two hosts at one web address, one of which has a certificate for a name of the other.
type CertificateShared struct {
	Host    string     `json:"host"` // whose certificate it is
	Other   string     `json:"other"`
	Name    string     `json:"name"`    // of the other
	Address netip.Addr `json:"address"` // of the web
}

// Kind implements Event.
func (CertificateShared) Kind() Kind { return "certificate_shared" }

// ProgramFailed is a program of a function ask that does not answer from now on.
type ProgramFailed struct {
	Function string `json:"function"` // chain/function
	Socket   string `json:"socket"`
	Error    string `json:"error"`
}

// Kind implements Event.
func (ProgramFailed) Kind() Kind { return "program_failed" }

// ProgramRecovered is one that answers again.
type ProgramRecovered struct {
	Function string `json:"function"`
	Socket   string `json:"socket"`
}

// Kind implements Event.
func (ProgramRecovered) Kind() Kind { return "program_recovered" }

// WebFull is that connections to web addresses are not heard, as too many wait.
type WebFull struct {
	Waiting int `json:"waiting"`
}

// Kind implements Event.
func (WebFull) Kind() Kind { return "web_full" }

// WebRecovered is that for a while all were heard.
type WebRecovered struct {
	Unheard uint64 `json:"unheard"` // frames
}

// Kind implements Event.
func (WebRecovered) Kind() Kind { return "web_recovered" }

// Text is an error as events have it: not longer than 1024 bytes and a few words. It is
// empty without an error.
func Text(err error) string {
	if err == nil {
		return ""
	}
	text := strings.ToValidUTF8(err.Error(), "?")
	if left := len(text) - longestText; left > 0 {
		text = fmt.Sprintf("%s … and %d bytes more", strings.ToValidUTF8(text[:longestText], ""), left)
	}
	return text
}

// LoginFailed is that somebody asked the control API by a token, or a certificate, that it does not know. Five of an address
// are told at once, and one each ten seconds.
type LoginFailed struct {
	Address netip.Addr `json:"address"` // of IPv6 the first of its /64
	Error   string     `json:"error"`
}

// Kind implements Event.
func (LoginFailed) Kind() Kind { return "login_failed" }

// HostRegistered is a host that has registered itself. Those of a file of hosts are not told one by one.
type HostRegistered struct {
	Host    string     `json:"host"`
	Address netip.Addr `json:"address"`
	Source  string     `json:"source"`         // kea, dnsmasq or update
	Until   time.Time  `json:"until,omitzero"` // when its lease ends; left out: when whoever registered it says so
}

// Kind implements Event.
func (HostRegistered) Kind() Kind { return "host_registered" }

// HostEnded is one that is reachable no more: its lease has ended, or it was taken away.
type HostEnded struct {
	Host    string     `json:"host"`
	Address netip.Addr `json:"address"`
	Source  string     `json:"source"`
}

// Kind implements Event.
func (HostEnded) Kind() Kind { return "host_ended" }
