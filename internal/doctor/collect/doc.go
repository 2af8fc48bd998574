// Package collect gathers the facts that package doctor judges: from the kernel, from files, from name servers, and from a
// gateway that runs or hangs. It changes nothing but for a round trip and a profile, where they are wanted, and ends in seconds
// whatever does not answer. It keeps no state.
package collect
