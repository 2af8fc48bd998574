// Package lab lays the laboratory of internal/lab/netns for a test, and takes it away at its
// end. It keeps no state; tests may lay theirs side by side. It also says which tests may take
// many minutes.
package lab
