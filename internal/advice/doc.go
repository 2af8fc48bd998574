// Package advice says what is wrong, who does it, and what to do: by the reasons that packets ended with lately, by who has
// most of what others did not get, by who asks for too many names, and by who does not hear that its packets are too long.
//
// A Service keeps the totals of the last minutes, and samples of who was refused, all bounded. Its methods may be called
// concurrently.
package advice
