package api

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os/user"
	"slices"
	"strconv"
)

// Role is what a caller may do: all that those before it may, and more.
type Role uint8

// The roles.
const (
	NoRole  Role = iota
	Read         // look at what there is
	Operate      // ban, end sessions, reload, refresh lists, watch drops, explain
	Admin        // see the configuration, change chains, capture packets, stop the gateway
)

var roleNames = [...]string{"none", "read", "operate", "admin"}

func (r Role) String() string { return roleNames[r] }

// MarshalText implements encoding.TextMarshaler.
func (r Role) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler. Nobody is given no role.
func (r *Role) UnmarshalText(text []byte) error {
	i := slices.Index(roleNames[Read:], string(text))
	if i < 0 {
		return fmt.Errorf("unknown role %q: use read, operate or admin", text)
	}
	*r = Read + Role(i)
	return nil
}

// Group is the group of the machine whose members have the role.
func (r Role) Group() string { return "realmgate-" + r.String() }

// Access says by their groups which roles users have. Root has all of them, and so has the gateway's own user.
type Access map[uint32]Role

// GroupAccess is the access that the groups of this machine give; none where there are none.
func GroupAccess() (Access, error) {
	access := Access{}
	for _, r := range []Role{Read, Operate, Admin} {
		group, err := user.LookupGroup(r.Group())
		if errors.As(err, new(user.UnknownGroupError)) || errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("look up the group %s: %w", r.Group(), err)
		}
		number, err := strconv.ParseUint(group.Gid, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("read the number of the group %s: %w", r.Group(), err)
		}
		access[uint32(number)] = r
	}
	return access, nil
}

// role is the highest that one of the groups has.
func (a Access) role(groups []uint32) Role {
	highest := NoRole
	for _, g := range groups {
		highest = max(highest, a[g])
	}
	return highest
}

// roleError is why a role is not enough.
type roleError struct{ have, want Role }

func (r roleError) Error() string {
	return fmt.Sprintf("this takes the role %s, and you have %s", r.want, r.have)
}

// refuse says what to do to be let in.
func refuse(c Caller, want Role) error {
	if c.Kind != "user" && c.Kind != "" {
		return failure{http.StatusForbidden, WithRemedy(roleError{c.Role, want}, "ask by a "+c.Kind+" with that role")}
	}
	have := c.Role
	groups := []string{}
	for r := want; r <= Admin; r++ {
		groups = append(groups, r.Group())
	}
	slices.Sort(groups)
	return failure{http.StatusForbidden, WithRemedy(roleError{have, want}, "ask as root, or as a member of "+orList(groups))}
}

func orList(words []string) string {
	text := words[0]
	for _, w := range words[1:] {
		text += " or " + w
	}
	return text
}
