// Package cli holds the commands of realmgate, one file each; root.go lists
// them. Answers go to standard output, and what went wrong to standard error, a
// line for each fault. The exit code is 0 for success, 1 for an error and 2 for
// a wrong command line.
//
// A command is a function that takes the app and returns a cobra.Command.
// docs/reference/cli.md documents each with its flags; a test compares the two.
//
// The package keeps no state: everything lives in the app that Main makes. One
// goroutine runs a command.
package cli
