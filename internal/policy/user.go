package policy

import (
	"net/netip"

	"github.com/realmgate/realmgate/internal/model"
)

// Last is the /24 that did something last, and when any other did. The zero Last knows of nobody.
type Last struct {
	subnet     netip.Prefix
	at, others model.Instant
}

// Note takes note of somebody.
func (l *Last) Note(at model.Instant, client netip.Addr) {
	subnet, _ := client.Prefix(subnetBits)
	if l.subnet.IsValid() && l.subnet != subnet {
		l.others = l.at
	}
	l.subnet, l.at = subnet, at
}

// Others returns when somebody outside the client's /24 was noted last, 0 if nobody was.
func (l *Last) Others(client netip.Addr) model.Instant {
	if l.subnet.Contains(client) {
		return l.others
	}
	return l.at
}

// Users knows who used each binding last.
type Users struct {
	last *table[uint64, Last]
}

// NewUsers makes Users that know of nobody. They remember TableSize bindings; of more the one that was used longest ago is
// forgotten.
func NewUsers() *Users { return &Users{last: newTable[uint64, Last](TableSize)} }

// Note takes note of a client that has proved itself.
func (u *Users) Note(at model.Instant, client netip.Addr, binding uint64) {
	last, _ := u.last.use(binding)
	last.Note(at, client)
}

// Others returns when somebody outside the client's /24 used the binding last, 0 if nobody is known to have.
func (u *Users) Others(client netip.Addr, binding uint64) model.Instant {
	last := u.last.get(binding)
	if last == nil {
		return 0
	}
	return last.Others(client)
}
