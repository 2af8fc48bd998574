// Command manual writes the man pages from the reference (docs/reference): realmgate(1) and a page for each of its commands from
// cli.md, realmgate.yaml(5) from configuration.md. Tests hold both against the program, so the man pages are right as they are.
//
//	go run ./manual -version V -date 2006-01-02 REFERENCE FOLDER
package main
