package metric

// The metrics.
const (
	BuildInfo Metric = iota
	StartTime
	Adopted
	Generation
	ReloadSuccess
	ReloadFailures
	ClockSynchronised
	CertificateExpiry
	MeasureFailures
	SeriesLeftOut

	Packets
	Refusals
	ICMPErrors
	InterfaceAttached
	NextHopUp

	Sessions
	SessionsLimit
	SessionsOpened
	SessionsClosed
	Mappings
	MappingsLimit
	PortsUsed
	PortsLimit
	OutboundAddresses
	TableEntries
	TableLimit
	TableFull
	MemoryBytes
	ChainMemoryBytes
	RingLost

	PoolAddresses
	PoolServices
	PoolServicesBound
	PoolAnswers
	PoolOffers
	PoolClaims
	PoolCookies
	PoolMoved

	RegisteredHosts
	RegisteredHostsLimit

	DNSQuestions
	DNSAnswers
	DNSUnanswered
	DNSTruncated
	DNSCacheHits
	DNSCacheMisses
	DNSUpstreamQueries
	DNSUpstreamFailures
	DNSFiltered
	DNSConnections

	ChainPackets
	ChainVerdicts
	ChainSeconds
	BackendUp

	Bans
	BansMade
	ListAge
	ListEntries
	ListFailures
	JailUp
	JailLines
	JailOffences

	SinkUp
	SinkDelivered
	SinkLost
	SinkQueued

	LogUp
	LogDelivered
	LogLost
	LogQueued
)

// Bounds of labels that a configuration fills.
const (
	mostAddresses = 64 // outbound ones, and next hops
	mostNamed     = 64 // lists, jails, functions, interfaces
	mostSinks     = 16
	mostLogs      = 8
)

var definitions = [...]Definition{
	BuildInfo:         {"realmgate_build_info", "1, with the version that runs.", Gauge, 1, []string{"version"}},
	StartTime:         {"realmgate_start_time_seconds", "When the daemon started, in Unix time.", Gauge, 1, nil},
	Adopted:           {"realmgate_adopted", "1 where the daemon took over an earlier one's data plane, with its sessions.", Gauge, 1, nil},
	Generation:        {"realmgate_generation", "Number of the configuration in force.", Gauge, 1, nil},
	ReloadSuccess:     {"realmgate_reload_success_timestamp_seconds", "When a configuration came into force last, in Unix time.", Gauge, 1, nil},
	ReloadFailures:    {"realmgate_reload_failures_total", "Reloads that were refused or rolled back.", Counter, 1, nil},
	ClockSynchronised: {"realmgate_clock_synchronised", "1 where the kernel says that its clock is synchronised.", Gauge, 1, nil},
	CertificateExpiry: {"realmgate_certificate_expiry_timestamp_seconds", "When the certificate of the control API over TLS ends, in Unix time. Only where it has one.", Gauge, 1, nil},
	MeasureFailures:   {"realmgate_measure_failures_total", "Times that a part of the gateway could not be measured, and its metrics were missing.", Counter, 1, nil},
	SeriesLeftOut:     {"realmgate_series_left_out", "Series of this page that were left out, as their metric has too many.", Gauge, 1, nil},

	Packets:           {"realmgate_packets_total", "Packets by how they ended.", Counter, 128, []string{"reason"}},
	Refusals:          {"realmgate_refusals_total", "RST and port unreachable that were sent.", Counter, 1, nil},
	ICMPErrors:        {"realmgate_icmp_errors_total", "ICMP errors that were sent.", Counter, 1, nil},
	InterfaceAttached: {"realmgate_interface_attached", "1 while the interface is there and has its program.", Gauge, mostNamed, []string{"interface", "side"}},
	NextHopUp:         {"realmgate_nexthop_up", "0 while the next hop of a route does not answer, else 1.", Gauge, mostAddresses, []string{"gateway"}},

	Sessions:          {"realmgate_sessions", "Sessions that stand.", Gauge, 1, nil},
	SessionsLimit:     {"realmgate_sessions_limit", "Sessions that there is room for.", Gauge, 1, nil},
	SessionsOpened:    {"realmgate_sessions_opened_total", "Sessions that began.", Counter, 1, nil},
	SessionsClosed:    {"realmgate_sessions_closed_total", "Sessions that ended.", Counter, 1, nil},
	Mappings:          {"realmgate_mappings", "Mappings that stand.", Gauge, 1, nil},
	MappingsLimit:     {"realmgate_mappings_limit", "Mappings that there are ports for.", Gauge, 1, nil},
	PortsUsed:         {"realmgate_ports_used", "Ports above 1023 of an outbound address that are taken or rest.", Gauge, 3 * mostAddresses, []string{"address", "protocol"}},
	PortsLimit:        {"realmgate_ports_limit", "Ports above 1023 of an outbound address.", Gauge, 3 * mostAddresses, []string{"address", "protocol"}},
	OutboundAddresses: {"realmgate_outbound_addresses", "Outbound addresses.", Gauge, 2, []string{"state"}},
	TableEntries:      {"realmgate_table_entries", "Entries of a table.", Gauge, 8, []string{"table"}},
	TableLimit:        {"realmgate_table_limit", "Entries that a table has room for.", Gauge, 8, []string{"table"}},
	TableFull:         {"realmgate_table_full_total", "Entries that found no room, and were done without.", Counter, 8, []string{"table"}},
	MemoryBytes:       {"realmgate_memory_bytes", "Memory of a table of the data plane.", Gauge, 128, []string{"table"}},
	ChainMemoryBytes:  {"realmgate_chain_memory_bytes", "Memory of the programs of chains, and of the tables that are theirs alone.", Gauge, 1, nil},
	RingLost:          {"realmgate_ring_lost_total", "Events of the data plane that the daemon did not hear.", Counter, 1, nil},

	PoolAddresses:     {"realmgate_pool_addresses", "Addresses of the pool.", Gauge, 3, []string{"state"}},
	PoolServices:      {"realmgate_pool_services", "Services that the pool is for.", Gauge, 1, nil},
	PoolServicesBound: {"realmgate_pool_services_bound", "Services that have an address of the pool.", Gauge, 1, nil},
	PoolAnswers:       {"realmgate_pool_answers_total", "Answers with an address of the pool.", Counter, 1, nil},
	PoolOffers:        {"realmgate_pool_offers_total", "Offers of the pool by what became of them.", Counter, 6, []string{"result"}},
	PoolClaims:        {"realmgate_pool_claims_total", "Clients that came by an offer.", Counter, 1, nil},
	PoolCookies:       {"realmgate_pool_cookies_total", "SYNs to the pool that were answered by cookies.", Counter, 1, nil},
	PoolMoved:         {"realmgate_pool_moved_total", "Services that lost their address to another.", Counter, 1, nil},

	RegisteredHosts:      {"realmgate_registered_hosts", "Hosts that have registered themselves.", Gauge, 4, []string{"source"}},
	RegisteredHostsLimit: {"realmgate_registered_hosts_limit", "Hosts that may register themselves.", Gauge, 4, []string{"source"}},

	DNSQuestions:        {"realmgate_dns_questions_total", "Messages that came to a name server.", Counter, 4, []string{"side", "transport"}},
	DNSAnswers:          {"realmgate_dns_answers_total", "Messages that a name server sent.", Counter, 16, []string{"side", "rcode"}},
	DNSUnanswered:       {"realmgate_dns_unanswered_total", "Messages that got no answer.", Counter, 8, []string{"side", "reason"}},
	DNSTruncated:        {"realmgate_dns_truncated_total", "Answers that told their asker to come by TCP.", Counter, 2, []string{"side"}},
	DNSCacheHits:        {"realmgate_dns_cache_hits_total", "Questions inside that were answered from the cache.", Counter, 1, nil},
	DNSCacheMisses:      {"realmgate_dns_cache_misses_total", "Questions inside that had to be asked upstream.", Counter, 1, nil},
	DNSUpstreamQueries:  {"realmgate_dns_upstream_queries_total", "Messages that were sent upstream.", Counter, 1, nil},
	DNSUpstreamFailures: {"realmgate_dns_upstream_failures_total", "Questions that no server upstream answered.", Counter, 1, nil},
	DNSFiltered:         {"realmgate_dns_filtered_total", "Answers of upstream that records were taken out of.", Counter, 2, []string{"records"}},
	DNSConnections:      {"realmgate_dns_connections", "TCP connections that a name server has.", Gauge, 2, []string{"side"}},

	ChainPackets:  {"realmgate_chain_packets_total", "Packets that a function was asked about.", Counter, mostNamed, []string{"chain", "function"}},
	ChainVerdicts: {"realmgate_chain_verdicts_total", "Of these packets, those that it accepted, dropped or failed to judge; others went on to the next function.", Counter, 3 * mostNamed, []string{"chain", "function", "verdict"}},
	ChainSeconds:  {"realmgate_chain_seconds", "What a function took, of one packet in 1,024.", Summary, 2 * mostNamed, []string{"chain", "function"}},
	BackendUp:     {"realmgate_backend_up", "1 while a backend is up. Only those that are checked.", Gauge, mostNamed, []string{"chain", "function", "backend"}},

	Bans:         {"realmgate_bans", "Bans in force.", Gauge, 3, []string{"source"}},
	BansMade:     {"realmgate_bans_total", "Bans that were made.", Counter, 3, []string{"source"}},
	ListAge:      {"realmgate_list_age_seconds", "How long ago the copy in force of a list was known to be the newest.", Gauge, mostNamed, []string{"list"}},
	ListEntries:  {"realmgate_list_entries", "Lines with addresses of a list.", Gauge, mostNamed, []string{"list"}},
	ListFailures: {"realmgate_list_failures", "Attempts in a row to fetch a list that came to nothing.", Gauge, mostNamed, []string{"list"}},
	JailUp:       {"realmgate_jail_up", "1 while a jail reads its log.", Gauge, mostNamed, []string{"jail"}},
	JailLines:    {"realmgate_jail_lines_total", "Lines that a jail looked at.", Counter, mostNamed, []string{"jail"}},
	JailOffences: {"realmgate_jail_offences_total", "Times that an address had as many failures as a jail allows.", Counter, mostNamed, []string{"jail"}},

	SinkUp:        {"realmgate_event_sink_up", "1 while a sink takes events.", Gauge, mostSinks, []string{"sink"}},
	SinkDelivered: {"realmgate_event_sink_delivered_total", "Events that a sink took.", Counter, mostSinks, []string{"sink"}},
	SinkLost:      {"realmgate_event_sink_lost_total", "Events that a sink did not get.", Counter, mostSinks, []string{"sink"}},
	SinkQueued:    {"realmgate_event_sink_queued", "Events that wait for a sink.", Gauge, mostSinks, []string{"sink"}},

	LogUp:        {"realmgate_log_up", "1 while a sink of the log takes records.", Gauge, mostLogs, []string{"sink"}},
	LogDelivered: {"realmgate_log_delivered_total", "Records that a sink of the log took.", Counter, mostLogs, []string{"sink"}},
	LogLost:      {"realmgate_log_lost_total", "Records that a sink of the log did not get.", Counter, mostLogs, []string{"sink"}},
	LogQueued:    {"realmgate_log_queued", "Records that wait for a sink of the log.", Gauge, mostLogs, []string{"sink"}},
}
