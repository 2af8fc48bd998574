// Package health finds out whether an endpoint answers. What a row of answers means is
// pure, the clock passed in; asking is at the edge. It keeps no state of its own, and a
// State is a value that whoever asks keeps.
package health
