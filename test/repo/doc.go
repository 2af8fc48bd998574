// Package repo holds the rules about the repository itself: how long a file may
// be, who may import whom, what must be documented. They are tests, and every
// rule has a case that proves it can fail.
//
// A rule is a function from a tree of files to a list of problems. It runs on
// the repository (the files that git knows or would add) and on small made-up
// trees. Rules keep no state and run in parallel.
package repo
