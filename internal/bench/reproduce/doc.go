// Package reproduce repeats the measurements of the papers that Realmgate grew
// out of, as far as a machine reaches, and says of each finding whether it holds
// here: what the paper found on its hardware, what this machine shows for
// netfilter, and what it shows for Realmgate. Absolute numbers are not compared;
// hardware and kernels are fifteen years apart.
//
// Findings lists them, a file for each paper. Each names the jobs that it needs,
// and judges their reports without any I/O. Run carries out the jobs whose reports
// are not there yet, so that an interrupted reproduction goes on where it was.
package reproduce
