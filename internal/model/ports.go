package model

import "fmt"

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

// PortSet is ports of TCP and of UDP. The zero value is empty.
type PortSet struct{ TCP, UDP []Ports }

// Of are the ports of a protocol; ICMP has none.
func (s PortSet) Of(p Protocol) []Ports {
	switch p {
	case TCP:
		return s.TCP
	case UDP:
		return s.UDP
	}
	return nil
}

// Empty reports whether no port is in the set.
func (s PortSet) Empty() bool { return len(s.TCP)+len(s.UDP) == 0 }

// Has reports whether a port is in the set.
func (s PortSet) Has(p Protocol, port uint16) bool {
	for _, r := range s.Of(p) {
		if r.First <= port && port <= r.Last {
			return true
		}
	}
	return false
}
