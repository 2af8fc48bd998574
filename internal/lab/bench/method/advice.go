package method

// Advice is how to set a gateway up for so many sessions at a time.
type Advice struct {
	Sessions  int             `json:"sessions"`
	Netfilter NetfilterAdvice `json:"netfilter"`
	Realmgate RealmgateAdvice `json:"realmgate"`
}

// NetfilterAdvice is for iptables, nftables and all else that stands on the
// kernel's connection tracking.
type NetfilterAdvice struct {
	HashSize    int       `json:"hashsize"`
	Most        int       `json:"nf_conntrack_max"`
	BucketBytes int64     `json:"bucket_bytes"`       // of the whole hash table, from the start
	LeastBytes  int64     `json:"least_bytes"`        // with connections that nothing is attached to, as this lab measures
	MostBytes   int64     `json:"most_bytes"`         // with something attached to each
	LencseBytes int64     `json:"bytes_lencse_shima"` // what the figures of Lencse and Shima come to
	Timeouts    []Timeout `json:"timeouts"`
}

// RealmgateAdvice is for this program, whose memory is taken at the start and does
// not grow.
type RealmgateAdvice struct {
	Capacity   int   `json:"capacity"`
	LeastBytes int64 `json:"least_bytes"` // with one outbound address
	MostBytes  int64 `json:"most_bytes"`  // with Outbound of them
	// Outbound is how many outbound addresses have a port for each session; fewer
	// do, since sessions of one inside port share theirs. EachOutbound is what each
	// after the first takes of memory.
	Outbound     int   `json:"outbound_addresses"`
	EachOutbound int64 `json:"bytes_each_outbound_address"`
}

// Timeout is one of nf_conntrack's settings, in seconds.
type Timeout struct {
	Name    string `json:"name"` // below net.netfilter
	Default int    `json:"default"`
	Value   int    `json:"value"` // what an RFC asks for
	Why     string `json:"why"`
}

// Timeouts are the settings of nf_conntrack (Linux 6.18) that decide how many
// connections stand at a time, with what the RFCs about NAT ask for.
func Timeouts() []Timeout {
	return []Timeout{
		{"nf_conntrack_tcp_timeout_established", 432000, 7440, "RFC 5382 REQ-5: at least 2 h 4 min; five days fill a table with the dead"},
		{"nf_conntrack_udp_timeout", 30, 300, "RFC 4787 REQ-5: at least 2 min, better 5"},
		{"nf_conntrack_udp_timeout_stream", 120, 300, "the same, for flows with frames both ways"},
		{"nf_conntrack_icmp_timeout", 30, 60, "RFC 5508 REQ-2: at least 60 s"},
	}
}

// PortsForAll is how many ports an outbound address has for all: those below 1024
// are for inside ports below 1024 alone (RFC 4787 REQ-3).
const PortsForAll = 65536 - 1024

// mostOutbound is how many outbound addresses there may be.
const mostOutbound = 64

// leastBuckets is what the kernel chooses itself where there is least memory; fewer
// spare nothing.
const leastBuckets = 1024

// UsualBuckets is what the kernel chooses on a machine with more than 4 GiB of
// memory, also for nf_conntrack_max.
const UsualBuckets = 262_144

// Advise returns the settings for so many sessions, from the measured model.
func Advise(sessions int) Advice {
	buckets, capacity := max(Buckets(sessions), leastBuckets), Capacity(sessions)
	outbound := min((sessions+PortsForAll-1)/PortsForAll, mostOutbound)
	return Advice{
		Sessions: sessions,
		Netfilter: NetfilterAdvice{
			HashSize: buckets, Most: buckets, BucketBytes: BucketBytes * int64(buckets),
			LeastBytes:  ConnectionBytes*int64(sessions) + BucketBytes*int64(buckets),
			MostBytes:   NetfilterBytes(sessions, buckets),
			LencseBytes: int64(LencseConnectionBytes*float64(sessions)) + BucketBytes*int64(buckets),
			Timeouts:    Timeouts(),
		},
		Realmgate: RealmgateAdvice{
			Capacity: capacity, LeastBytes: RealmgateBytes(capacity, 1), MostBytes: RealmgateBytes(capacity, outbound),
			Outbound: outbound, EachOutbound: portBytes * portsEachAddress,
		},
	}
}
