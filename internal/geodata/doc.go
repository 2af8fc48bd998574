// Package geodata makes the table of where addresses are, of files and URLs that a user has.
package geodata
