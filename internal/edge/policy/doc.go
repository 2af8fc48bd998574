// Package policy decides whether two hosts behind two edges may talk, and how narrowly: rules, terms, and the one function
// by which both edges combine what they want. It is pure: no state, no I/O, no clock.
//
// A term has an order from wide to narrow, and the narrower of two is in force. So combining is commutative, idempotent,
// and never wider than either side; where two terms have nothing in common there is no pact.
package policy
