// Command testsummary reads the output of `go test -json` and tells a person
// what matters: one line for each package as it ends, the full output of what
// failed, what was skipped and why, and a last line with the counts. With -logs it
// tells what passed tests logged, too: the figures of those that measure.
//
// It exits with 1 when a test or a build failed, when not one test ran, and,
// with CI set in the environment, when a test was skipped: a skip must not hide
// a regression. It reads standard input once, in one goroutine.
package main
