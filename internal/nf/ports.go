package nf

import (
	"slices"

	"github.com/realmgate/realmgate/internal/model"
)

// Ports is the function "ports": it finds what is known of the port that a flow goes to,
// for the functions that follow.
type Ports struct {
	Ignored   model.PortSet // honeypot and geofence are not asked
	Honeypot  model.PortSet // the honeypot drops what comes from outside
	Monitored model.PortSet // the geofence is asked about these alone; empty: about all
}

// Honeypot is the function "honeypot".
type Honeypot struct{}

// SeesEveryPacket implements Function.
func (Ports) SeesEveryPacket() bool { return false }

// SeesEveryPacket implements Function.
func (Honeypot) SeesEveryPacket() bool { return false }

// Compile implements Function.
func (p Ports) Compile(c Context) (Compiled, error) {
	return protection(protectionProgNfPorts, protectionMapPortMarks, p.marks(), c)
}

// Compile implements Function.
func (Honeypot) Compile(c Context) (Compiled, error) {
	return protection[struct{}](protectionProgNfHoneypot, "", nil, c)
}

// portCell is what is known of some ports, a byte each (bpf/guard/port_marks.h).
type portCell [64]uint8

// marks is the table of all ports: those of TCP, and then those of UDP. Port 0 of TCP
// stands for that of a later fragment, which nobody knows: where ports make a difference,
// the first fragment decides.
func (p Ports) marks() (cells []portCell) {
	for _, protocol := range []model.Protocol{model.TCP, model.UDP} {
		var marks [1 << 16]uint8
		add := func(set model.PortSet, change func(*uint8)) {
			for _, r := range set.Of(protocol) {
				for port := int(r.First); port <= int(r.Last); port++ {
					change(&marks[port])
				}
			}
		}
		if !p.Monitored.Empty() {
			for port := range marks {
				marks[port] = uint8(protectionPortMarkPORT_UNMONITORED)
			}
		}
		add(p.Monitored, func(m *uint8) { *m = 0 })
		add(p.Ignored, func(m *uint8) { *m |= uint8(protectionPortMarkPORT_IGNORED) })
		add(p.Honeypot, func(m *uint8) { *m |= uint8(protectionPortMarkPORT_HONEYPOT) })
		marks[0] = 0
		if !p.Ignored.Empty() || !p.Monitored.Empty() {
			marks[0] = uint8(protectionPortMarkPORT_IGNORED)
		}
		for some := range slices.Chunk(marks[:], len(portCell{})) {
			cells = append(cells, portCell(some))
		}
	}
	return cells
}
