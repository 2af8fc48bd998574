// Package e2e tests the whole gateway with real programs: the realmgate binary
// in a realm of network namespaces, unbound as the public realm's resolver,
// dig, curl, nginx and iperf3 as the people on both sides.
package e2e
