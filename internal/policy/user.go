package policy

import (
	"net/netip"

	"github.com/realmgate/realmgate/internal/model"
)

// Users knows when a binding's clients proved themselves last, and whether they were of one /24 alone.
type Users struct {
	last *table[uint64, user]
}

// user is the /24 that used a binding last, and when any other did.
type user struct {
	subnet     netip.Prefix
	at, others model.Instant
}

// NewUsers makes Users that know of nobody. They remember TableSize bindings; of more the one that was used longest ago is
// forgotten.
func NewUsers() *Users { return &Users{last: newTable[uint64, user](TableSize)} }

// Note takes note of a client that has proved itself.
func (u *Users) Note(at model.Instant, client netip.Addr, binding uint64) {
	subnet, _ := client.Prefix(subnetBits)
	last, fresh := u.last.use(binding)
	if !fresh && last.subnet != subnet {
		last.others = last.at
	}
	last.subnet, last.at = subnet, at
}

// Others returns when somebody outside the client's /24 used the binding last, 0 if nobody is known to have.
func (u *Users) Others(client netip.Addr, binding uint64) model.Instant {
	last := u.last.get(binding)
	switch {
	case last == nil:
		return 0
	case last.subnet.Contains(client):
		return last.others
	}
	return last.at
}
