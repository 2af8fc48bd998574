// Package doctor says what is wrong with a gateway and its machine, what explains what, and which command repairs it.
//
// It is pure: checks are functions over facts, which doctor/collect gathers. It keeps no state.
package doctor
