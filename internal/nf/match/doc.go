// Package match is what flows have in common: the conditions of chains and of functions, how a file gives them, and the rules that
// they are for the engine. It has no state.
package match
