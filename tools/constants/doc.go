// Command constants writes constants of C headers as Go: values of macros, and the names of
// an enum's entries. It keeps no state, and fails where a header has not what is asked for.
//
//	constants -package model -o kernel.go -values MAX_OUTBOUND=MaxOutbound -names reason:REASON_:Reason header.h …
package main
