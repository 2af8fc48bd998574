// Package dut holds the devices under test: one file each, with what it takes to
// bring one up, empty it, ask how many sessions it has, and take it down. A new
// device is a new file and a line in All.
package dut

import "github.com/realmgate/realmgate/internal/lab/bench"

// All lists the devices, the control first.
func All() []bench.Model {
	return []bench.Model{
		null, route, conntrack, iptables, iptablesNFT, ipset, nftables, nftablesSet, nfqueue, nfqueueEach, realmgate, realmgateSet, realmgateTCX, realmgateAsk,
		realmgateNAT, realmgateNATTCX, nginx, haproxy, splice, external,
	}
}
