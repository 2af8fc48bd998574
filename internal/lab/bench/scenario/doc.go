// Package scenario holds what can be measured: one file for each scenario or
// family of them. A new scenario is a new file and a line in All.
package scenario

import "github.com/realmgate/realmgate/internal/lab/bench"

// All lists the scenarios.
func All() []bench.Scenario {
	list := []bench.Scenario{
		routing, flowCount, tracking, filter,
		natEstablish, natThroughput, natLoss, natLatency, natPDV, natTeardown, natCapacity, natMemory, sessionMemory,
		conntrackLimits,
		hashLoad, targets, rulePosition, ruleCount, ruleLoadTime, ruleArrangement, markDNAT,
		nfqueue, firstPacketVerdict, asked, protection, chainHops, cpuPinning, tcpSessions, tcpOffered, replayCapture, poolAllocate,
		webNames, webNamesXDP,
	}
	for i := range list {
		list[i] = noted(list[i])
	}
	return list
}
