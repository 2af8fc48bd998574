package datapath

import "github.com/cilium/ebpf"

// tables are all maps of the data plane, for their sizes.
func (d *Datapath) tables() []*ebpf.Map {
	m := &d.objects.bpfMaps
	return []*ebpf.Map{
		m.AddressTable, m.BindingTable, m.BoundPortIndex, m.BoundPortTable, m.BannedAddresses, m.BannedPrefixes, m.BannedPrefixes6, m.Budgets, m.CaptureRings, m.CaptureSnaps, m.ClaimEvents, m.ControlTable, m.DropEvents, m.HostTable,
		m.Chains, m.InterfaceTable, m.KnownTable, m.NfCounts, m.NfPackets, m.LayoutTable, m.Locks, m.MappingIndex, m.MappingTable, m.NewFlows, m.NextHops, m.OwnAddresses,
		m.PortBitmaps, m.Programs, m.ReasonCounters, m.RecordSearches, m.RefusalBudgets, m.RemoteTable, m.ReservationIndex, m.ReservationQueue, m.ReservationTable,
		m.ServiceTable, m.SessionBitmap, m.SessionIndex, m.SessionTable, m.SettingsTable, m.Statistics, m.SubscriberTable, m.TentativeTable, m.TrapBudgets, m.TrapEvents,
		m.AwaitedAskers, m.LentNames, m.QuestionBudgets, m.QuestionStates, m.Questions,
	}
}
