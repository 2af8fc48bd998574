package nf

import (
	"fmt"

	"github.com/cilium/ebpf"

	"github.com/realmgate/realmgate/internal/model"
)

// Remote is what is known of remote addresses: of those that flows from outside come
// from, and of those that flows from inside go to.
type Remote struct{ In, Out Addresses }

// Addresses are sets of addresses; nil is the empty one.
type Addresses struct {
	Allowed *model.AddressSet // the functions of the protection leave them alone
	Blocked *model.AddressSet // "blocklist" drops them
	Fenced  *model.AddressSet // "geofence" drops them
}

// Allowlist is the function "allowlist": it finds what is known of the flow's remote
// address for the others, and drops nothing. It is the first where one of them is.
type Allowlist struct{ Remote Remote }

// Blocklist is the function "blocklist".
type Blocklist struct{}

// Geofence is the function "geofence".
type Geofence struct{}

// SeesEveryPacket implements Function.
func (Allowlist) SeesEveryPacket() bool { return false }

// SeesEveryPacket implements Function.
func (Blocklist) SeesEveryPacket() bool { return false }

// SeesEveryPacket implements Function.
func (Geofence) SeesEveryPacket() bool { return false }

// Compile implements Function.
func (a Allowlist) Compile(c Context) (p Compiled, err error) {
	list, err := a.Remote.compile()
	if err != nil {
		return p, err
	}
	return protection(protectionProgNfAllowlist, protectionMapRulesNodes, list, c)
}

// Compile implements Function.
func (Blocklist) Compile(c Context) (Compiled, error) {
	return protection[struct{}](protectionProgNfBlocklist, "", nil, c)
}

// Compile implements Function.
func (Geofence) Compile(c Context) (Compiled, error) {
	return protection[struct{}](protectionProgNfGeofence, "", nil, c)
}

// protection compiles one of the functions; table is the name of the one that it has for itself,
// empty for none.
func protection[T any](name, table string, values []T, c Context) (p Compiled, err error) {
	spec, err := loadProtection()
	if err != nil {
		return p, fmt.Errorf("read the protection: %w", err)
	}
	if table != "" {
		made, err := ArrayOf(spec.Maps[table], values)
		if err != nil {
			return p, fmt.Errorf("make %s: %w", table, err)
		}
		p.Maps = map[string]*ebpf.Map{table: made}
	}
	err = p.Take(spec.Programs[name], c)
	return p, err
}

// compile makes the table of all addresses: a head with ranges in its first dimension,
// and classes that are words of marks.
func (r Remote) compile() (nodes, error) {
	marked := newDimension(0)
	var marks []uint64 // of each condition
	for shift, of := range []Addresses{r.In, r.Out} {
		for _, m := range []struct {
			set  *model.AddressSet
			mark protectionRemoteMark
		}{{of.Allowed, protectionRemoteMarkREMOTE_ALLOWED}, {of.Blocked, protectionRemoteMarkREMOTE_BLOCKED}, {of.Fenced, protectionRemoteMarkREMOTE_FENCED}} {
			if m.set == nil {
				continue
			}
			number := int(marked.number(condition{lanes: 1, set: m.set}, false))
			if number > len(marks) { // a set may be known for two things
				marks = append(marks, 0)
				marked.level = append(marked.level, uint8(number))
			}
			marks[number-1] |= uint64(m.mark) << (shift * int(protectionRemoteMarkREMOTE_MARKS))
		}
	}
	made, err := marked.cut("remote address, of allowlist, blocklist and geofence together,")
	if err != nil {
		return nil, err
	}
	list := make(nodes, 1) // for the head
	head := classifierRulesHead{Source: list.addRanges(made.ranges)}
	head.Source.Classes, head.Source.ClassShift = uint32(len(list)), 3
	var c classifierRulesNode
	for i, now := range made.classes {
		at := i % len(c.Word)
		for _, number := range now {
			if number > 0 {
				c.Word[at] |= marks[number-1]
			}
		}
		if at == len(c.Word)-1 || i == len(made.classes)-1 {
			list = append(list, c)
			c = classifierRulesNode{}
		}
	}
	list[0] = nodeOf(head)
	return list, nil
}
