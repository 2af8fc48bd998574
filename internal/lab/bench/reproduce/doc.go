// Package reproduce repeats the measurements of the papers that Realmgate grew out
// of, as far as a machine reaches, and says of each finding whether it holds here:
// what the paper found on its hardware, what this machine shows for netfilter, and
// what it shows for Realmgate. Absolute numbers are not compared; hardware and
// kernels are fifteen years apart.
//
// Papers lists the findings, a file for each paper. Each names the jobs that it
// needs, and judges their reports without any I/O, by figures that carry the range
// of their trials: what the range leaves open is undecided. Summary sets Realmgate
// beside the better of its peers. Run carries out the jobs that have no report yet
// of this program on this machine, so that an interrupted reproduction goes on where
// it was.
package reproduce
