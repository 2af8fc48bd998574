// Command sbom writes the bill of materials of a Go program, in CycloneDX 1.6: the program with its hash, and each module that it is
// linked with, which the program itself knows (debug/buildinfo), and each script of others that its page has, with its hash. The time
// in it is SOURCE_DATE_EPOCH.
//
//	sbom PROGRAM VERSION LIST
package main
