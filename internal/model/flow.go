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

// Ports are TCP or UDP ports from First to Last. The zero value is every port, and
// flows that have none.
type Ports struct{ First, Last uint16 }

// String writes "any", "80" or "1024-65535".
func (p Ports) String() string {
	switch {
	case p == Ports{}:
		return "any"
	case p.First == p.Last:
		return fmt.Sprint(p.First)
	}
	return fmt.Sprintf("%d-%d", p.First, p.Last)
}
