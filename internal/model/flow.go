package model

import "fmt"

// Direction is who began a flow. The zero value is either.
type Direction uint8

// Out is of flows that a private host began, In of those from outside.
const (
	AnyDirection Direction = iota
	Out
	In
)

var directionNames = [...]string{"any", "out", "in"}

// String returns "any", "out" or "in".
func (d Direction) String() string {
	if int(d) < len(directionNames) {
		return directionNames[d]
	}
	return fmt.Sprintf("direction-%d", uint8(d))
}

// ProtectionName is how the functions of the protection are told from those of chains.
const ProtectionName = "protection"
