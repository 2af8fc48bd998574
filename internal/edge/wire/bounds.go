package wire

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/realmgate/realmgate/internal/model"
)

// How much one message may carry.
const (
	MostZones    = 128
	MostLocators = 16
	MostPairs    = 512 // of Close, Renew, Renewed, Resume, Resumed
	MostServices = 64  // of Terms, of 32 octets each
	MostUnknown  = 16  // of Terms
	MostText     = 256 // octets of a text for people
	MostWord     = 32  // octets of a word
	MostEpoch    = 127
	MostVNI      = 1<<24 - 1
	LeastMTU     = 1280
	MostMTU      = 65535
	MostHold     = Seconds(24 * 60 * 60)
)

func (m Hello) check() error {
	process := HostID(0)
	if err := process.UnmarshalText([]byte(m.Process)); err != nil {
		return malformed("process: %v", err)
	}
	switch {
	case m.Versions[0] < 1 || m.Versions[1] < m.Versions[0] || m.Versions[1] > 1<<16:
		return malformed("versions %d to %d are no range", m.Versions[0], m.Versions[1])
	case len(m.Zones) > MostZones:
		return malformed("%d zones", len(m.Zones))
	case len(m.Locators) > MostLocators:
		return malformed("%d locators", len(m.Locators))
	case m.VNI == 0 || m.VNI > MostVNI:
		return malformed("vni %d", m.VNI)
	case m.Epoch > MostEpoch:
		return malformed("epoch %d", m.Epoch)
	case m.MTU != 0 && (m.MTU < LeastMTU || m.MTU > MostMTU):
		return malformed("mtu %d", m.MTU)
	case !isWord(m.Confidential):
		return malformed("confidential %.40q", m.Confidential)
	case m.Limits.Pacts < 0 || m.Limits.Opens < 0:
		return malformed("limits %d, %d", m.Limits.Pacts, m.Limits.Opens)
	}
	for _, l := range m.Locators {
		if !l.Address.IsValid() || l.Address.Zone() != "" || l.Priority < 0 || l.Weight < 0 {
			return malformed("locator %v", l)
		}
	}
	return checkNames(append([]model.Name{m.Name}, m.Zones...)...)
}

func (m Epoch) check() error {
	if m.Epoch > MostEpoch {
		return malformed("epoch %d", m.Epoch)
	}
	return nil
}

func (m Open) check() error {
	if m.Tag == 0 || m.Round < 1 || m.Round > 2 || m.Hold > MostHold {
		return malformed("tag %v, round %d, hold %d", m.Tag, m.Round, m.Hold)
	}
	if m.Pact != nil {
		if err := checkPairs([]Pair{*m.Pact}); err != nil {
			return err
		}
	}
	if err := checkNames(m.From, m.To); err != nil {
		return err
	}
	return checkTerms(m.Offer, m.Require)
}

func (m Accept) check() error {
	if m.Tag == 0 {
		return malformed("tag 0")
	}
	return checkTerms(m.Terms)
}

func (m More) check() error { return checkTerms(m.Require) }

func (m Refuse) check() error {
	if m.Reason == "" || !isWord(string(m.Reason)) {
		return malformed("reason %.40q", m.Reason)
	}
	return checkText(m.Text)
}

func (m Close) check() error {
	if err := checkText(m.Reason); err != nil {
		return err
	}
	return checkPairs(m.Pacts)
}

func (m Renew) check() error {
	if m.Hold == 0 || m.Hold > MostHold {
		return malformed("hold %d", m.Hold)
	}
	return checkPairs(m.Pacts)
}

func (m Renewed) check() error { return checkPairs(m.Pacts, m.Gone) }

func (m Resume) check() error {
	if len(m.Pacts) > MostPairs {
		return malformed("%d pacts", len(m.Pacts))
	}
	for _, k := range m.Pacts {
		if err := checkPairs([]Pair{k.Pair}); err != nil {
			return err
		}
		if err := checkNames(k.From, k.To); err != nil {
			return err
		}
	}
	return nil
}

func (m Resumed) check() error { return checkPairs(m.Gone) }

func (m Ping) check() error { return nil }

func (m Probed) check() error {
	if m.Size < 0 || m.Size > MostMTU {
		return malformed("size %d", m.Size)
	}
	return nil
}

func (m Leave) check() error { return checkText(m.Reason) }

func malformed(format string, a ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrMalformed}, a...)...)
}

// checkNames wants names in canonical form, so that both edges compare the same octets.
func checkNames(names ...model.Name) error {
	for _, name := range names {
		if canonical, err := model.ParseName(string(name)); err != nil || canonical != name {
			return malformed("name %.300q is not in canonical form: lower case, with the final dot", string(name))
		}
	}
	return nil
}

// checkPairs bounds all lists together. A tag of the receiver's that it never gave harms nobody: it finds nothing.
func checkPairs(lists ...[]Pair) error {
	count := 0
	for _, list := range lists {
		count += len(list)
		for _, pair := range list {
			if pair.Mine == 0 || pair.Yours == 0 {
				return malformed("tag 0")
			}
		}
	}
	if count > MostPairs {
		return malformed("%d pacts", count)
	}
	return nil
}

func checkTerms(list ...Terms) error {
	for _, t := range list {
		switch {
		case !isWord(t.Vouched) || !isWord(t.Name) || !isWord(t.Confidential):
			return malformed("terms %.40q, %.40q, %.40q", t.Vouched, t.Name, t.Confidential)
		case t.Hold > MostHold:
			return malformed("hold %d", t.Hold)
		case len(t.Services) > MostServices:
			return malformed("%d services", len(t.Services))
		}
		for _, service := range t.Services {
			if service == "" || len(service) > MostWord || checkText(service) != nil {
				return malformed("service %.40q", service)
			}
		}
	}
	return nil
}

// checkText wants a text that may be logged and shown: short, of one line, and without what changes a terminal.
func checkText(text string) error {
	if len(text) > MostText || strings.ContainsFunc(text, func(c rune) bool { return !unicode.IsPrint(c) }) {
		return malformed("text %.40q is longer than %d octets or not printable", text, MostText)
	}
	return nil
}

// isWord tells whether a text is empty or a word of a closed set, of this version or a later one.
func isWord(text string) bool {
	return len(text) <= MostWord && !strings.ContainsFunc(text, func(c rune) bool { return (c < 'a' || c > 'z') && c != '_' })
}
