// Realmgate is a gateway between a private and a public realm: hosts behind it
// are reached by name, and reach out through NAT. `realmgate --help` lists the
// commands; docs/reference/cli.md explains them.
package main
