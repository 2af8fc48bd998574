// Package geodata makes the table of where addresses are, of packages that the machine's
// own package managers fetch, or of files that a user has.
package geodata
