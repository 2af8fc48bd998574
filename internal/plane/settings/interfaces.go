package settings

import (
	"slices"

	"github.com/realmgate/realmgate/internal/schema"
)

// Interfaces names the network interfaces of each side. No name is in them twice, and Public has one at least.
type Interfaces struct {
	Public, Private []string
	ReversePath     ReversePath // of sources inside
	Stack           []string    // those of both that packets leave by through the kernel's stack
	XDP, TCX        []string    // those of both that are to be attached so, whatever they are
}

// Single reports whether the machine has nobody behind it, and protects itself alone.
func (i *Interfaces) Single() bool { return len(i.Private) == 0 }

// ReversePath says by which private interface a packet's source has to be reached
// (RFC 3704 section 2).
type ReversePath uint8

// The checks of a reverse path.
const (
	ReversePathStrict ReversePath = iota // the one that the packet came by
	ReversePathLoose                     // any
)

// String returns the word used in the file.
func (r ReversePath) String() string { return schema.Word(int(r), "reverse_path", "strict", "loose") }

// InterfacesDraft is `interfaces`.
type InterfacesDraft struct {
	interfaces                       *Interfaces
	public, private, stack, xdp, tcx []schema.At[string]
}

// NewInterfaces makes a draft whose values go to interfaces.
func NewInterfaces(interfaces *Interfaces) *InterfacesDraft {
	return &InterfacesDraft{interfaces: interfaces}
}

// Keys implements schema.Draft.
func (d *InterfacesDraft) Keys() []schema.Key {
	return []schema.Key{schema.Section(
		"interfaces",
		schema.Many("public", &d.public, schema.Device(), 1).Must(),
		schema.Many("private", &d.private, schema.Device(), 1).Otherwise("none: a single machine"),
		schema.Many("xdp", &d.xdp, schema.Device(), 0).Otherwise("by what each interface is"),
		schema.Many("tcx", &d.tcx, schema.Device(), 0).Otherwise("by what each interface is"),
		schema.One("reverse_path", &d.interfaces.ReversePath, schema.Choice(ReversePathStrict, ReversePathLoose)),
		schema.Section("egress", schema.Many("stack", &d.stack, schema.Device(), 0)),
	).Must()}
}

// Private reports whether the file lists an interface inside.
func (d *InterfacesDraft) Private(name string) bool {
	return slices.ContainsFunc(d.private, func(device schema.At[string]) bool { return device.Value == name })
}

// Single reports whether the file lists interfaces outside, and none inside.
func (d *InterfacesDraft) Single() bool { return len(d.public) > 0 && len(d.private) == 0 }

// Outside is the first interface there, "" for none.
func (d *InterfacesDraft) Outside() string {
	if len(d.public) == 0 {
		return ""
	}
	return d.public[0].Value
}

// Finish implements schema.Draft.
func (d *InterfacesDraft) Finish(faults *schema.Faults) {
	seen := make(map[string]int)
	take := func(list []schema.At[string], side string) (names []string) {
		for _, device := range list {
			if device.Value == "lo" {
				faults.Add(device.Line, "interfaces.%s: lo is the loopback interface, by which only this machine's own packets come: name one that a network is at", side)
				continue
			}
			if line, twice := seen[device.Value]; twice {
				faults.Add(device.Line, "interfaces.%s: %s is already listed at line %d: an interface has one side", side, device.Value, line)
				continue
			}
			seen[device.Value] = device.Line
			names = append(names, device.Value)
		}
		return names
	}
	d.interfaces.Public = take(d.public, "public")
	d.interfaces.Private = take(d.private, "private")
	for _, device := range d.stack {
		if seen[device.Value] == 0 {
			faults.Add(device.Line, "interfaces.egress.stack: %s is in neither interfaces.public nor interfaces.private: add it to one", device.Value)
			continue
		}
		d.interfaces.Stack = append(d.interfaces.Stack, device.Value)
	}
	modes := make(map[string]int)
	attach := func(list []schema.At[string], mode string) (names []string) {
		for _, device := range list {
			switch line, twice := modes[device.Value]; {
			case twice:
				faults.Add(device.Line, "interfaces.%s: %s is already listed at line %d: an interface has one mode", mode, device.Value, line)
			case seen[device.Value] == 0:
				faults.Add(device.Line, "interfaces.%s: %s is in neither interfaces.public nor interfaces.private: add it to one", mode, device.Value)
			default:
				names = append(names, device.Value)
			}
			modes[device.Value] = device.Line
		}
		return names
	}
	d.interfaces.XDP = attach(d.xdp, "xdp")
	d.interfaces.TCX = attach(d.tcx, "tcx")
}
