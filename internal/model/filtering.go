package model

import "fmt"

// Filtering is what a mapping lets in from outside (RFC 4787 §5).
type Filtering uint8

// The three behaviours of RFC 4787 §5, weakest first.
const (
	EndpointIndependent Filtering = iota
	AddressDependent
	AddressAndPortDependent
)

var filteringNames = [...]string{"endpoint-independent", "address-dependent", "address-and-port-dependent"}

// String returns the name RFC 4787 gives the behaviour.
func (f Filtering) String() string {
	if int(f) < len(filteringNames) {
		return filteringNames[f]
	}
	return fmt.Sprintf("filtering-%d", uint8(f))
}
