package doctor

import (
	"net/netip"
	"slices"
	"time"
)

// Facts are what the machine, its networks and a gateway that runs say. What was not looked at is zero.
type Facts struct {
	Now           time.Time
	Configuration Configuration
	Kernel        Kernel
	Single        bool        // the machine has nobody behind it, and protects itself alone
	Interfaces    []Interface // those of the configuration that are there
	Doubts        Doubts
	Routes        Routes
	Pool          []PoolWay
	RoundTrip     RoundTrip
	Upstream      []Server
	Delegations   []Delegation
	Clock         Clock
	Memory        Memory
	Disk          Disk
	Certificate   Certificate
	Gateway       Gateway
}

// Configuration is the file. Nothing but the kernel can be looked at without a good one.
type Configuration struct {
	File  string
	Error string
}

// Kernel is what programs of BPF need of it.
type Kernel struct {
	Release      string
	Lacks        []string // features of BPF that the data plane uses
	BPFFS        bool     // the file system for pins is mounted
	Lockdown     string   // none, integrity, confidentiality; empty: the kernel has none
	Capabilities string   // those that this process lacks
}

// Interface is one of the configuration's.
type Interface struct {
	Name, Side, Driver string
	MTU                int
	XDP                bool // the configuration wants its program in the driver
	Known              bool // the kernel says what it does with XDP
	Native, Redirects  bool
	LRO, StripsVLAN    bool
	VLANs              []string // interfaces that take its tagged frames
	Forwards           bool
	ReversePath        int    // rp_filter that holds: 1 is strict
	Mode               string // how the gateway serves it, empty where none runs
}

// Doubts are what the rooms say themselves about configuration and machine, each in one line that ends with a colon and what to
// do.
type Doubts struct {
	Configuration []string
	Interfaces    []string
	Addresses     []string
	Hosts         []string
	Ports         []string // where the name servers have to listen, and others do
	Rules         []string // of firewalls
	Links         []string // what others have attached to interfaces
	Web           []string
	Failed        []string // what could not be looked at
	Denied        []string // what only root may look at, in words without a remedy
}

// All are all of them; what only root may look at is none.
func (d Doubts) All() []string {
	return slices.Concat(d.Configuration, d.Interfaces, d.Addresses, d.Ports, d.Hosts, d.Web, d.Rules, d.Links, d.Failed)
}

// Routes are the ways out.
type Routes struct {
	Looked  bool
	Default bool         // there is one
	By      string       // the interface that it leaves by
	Public  bool         // which is one of the configuration's public ones
	Dead    []netip.Addr // next hops that do not answer ARP
}

// PoolWay is where the router outside sends an address of the pool.
type PoolWay struct {
	Address netip.Addr
	Here    bool       // it came back
	Lost    netip.Addr // who has said instead that it does not lead here; not valid: nobody
	Error   string     // what that said
}

// RoundTrip is what became of a name that was taken from outside, and of a connection to what it stands for.
type RoundTrip struct {
	Name      string // "" where nobody asked for one
	Untried   string // why not
	Unknown   bool   // no service has the name
	From      netip.Addr
	Host      netip.AddrPort
	Silent    netip.Addr // of the host, or of the router before it: it does not answer ARP
	Server    netip.AddrPort
	NoAddress string // why the name server named none
	Lent      netip.AddrPort
	Failed    string // why no connection came about
	Refused   bool   // because somebody refused it
	Dropped   string // why the gateway dropped a packet of it
	Took      time.Duration
}

// Server is an upstream name server. Each text is why an answer was none, empty where it was one.
type Server struct {
	Address        netip.AddrPort
	UDP, EDNS, TCP string
}

// Delegation is what the zone above says of one of ours.
type Delegation struct {
	Zone    string
	Parent  string // a name server of the zone above, "" where none was found
	Error   string
	Servers []string     // that it names
	Wanted  string       // our name server's name
	Leads   []netip.Addr // where that name leads
	To      netip.Addr   // where it has to; not valid: unknown
}

func (d Delegation) found() bool { return d.Parent != "" }

// Clock is the kernel's.
type Clock struct {
	Looked, Synchronised bool
}

// Memory is what tables take, in bytes.
type Memory struct {
	Needed, Available int64
	Capacity          int
}

// Disk is where bans and bindings outlive a restart.
type Disk struct {
	Folder   string // "" where there is none
	Free     int64
	Inodes   bool // there are free ones
	ReadOnly bool
}

// Certificate is that of the control API.
type Certificate struct {
	File  string // "" where there is none
	Error string
	Ends  time.Time
}

// Gateway is the daemon.
type Gateway struct {
	Socket   string
	PID      int // of who has the socket, 0 where nobody
	Error    string
	Answers  bool
	AtWork   bool // programs of this instance are, whoever runs
	Warnings []string
	Lists    []List
}

// List is a list of addresses that is fetched.
type List struct {
	Name    string
	Error   string // of the last attempt
	Fetched time.Time
}
