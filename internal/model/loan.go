package model

import "net/netip"

// LoanStep is what becomes of an address of the pool.
type LoanStep uint8

// The steps.
const (
	Lent     LoanStep = iota // a port of it leads to a host
	Returned                 // it leads there no longer; sessions that stand go on
	Offered                  // it was the answer to an asker
	Claimed                  // a client came by the answer
	Unused                   // nobody did
)

// Loan is a step of one.
type Loan struct {
	Step    LoanStep
	Address netip.Addr // of the pool
	Host    netip.Addr // private
	Port    Port       // of Lent and Returned
	Name    Name       // the service's, or that was asked for
	Asker   netip.Addr // of the others, where it is known
	Client  netip.Addr // of Claimed
}
