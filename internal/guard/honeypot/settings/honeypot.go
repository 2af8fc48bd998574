package settings

import (
	"iter"
	"time"

	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/schema"
)

// key is where the section stands.
const key = model.ProtectionName + ".honeypot"

// Honeypot is ports at which nobody outside has anything to do, and for how long is banned
// who completes a TCP handshake there.
type Honeypot struct {
	Ports   model.PortSet // empty: there is none
	BanTime time.Duration // 1s to 8760h
}

// PortUser is a section that uses ports, of which the honeypot may have none: each is called with those of a
// protocol, and with what they are for.
type PortUser interface {
	EachPort(protocol model.Protocol, each func(used model.Ports, whose string, args ...any))
}

// Draft is `protection.honeypot`.
type Draft struct {
	honeypot *Honeypot
	users    []PortUser
	ports    schema.Ports
	line     int
}

// New makes a draft whose values go to honeypot. None of its ports may be one of the users.
func New(honeypot *Honeypot, users ...PortUser) *Draft {
	*honeypot = Honeypot{BanTime: time.Hour}
	return &Draft{honeypot: honeypot, users: users}
}

// Keys implements schema.Draft.
func (d *Draft) Keys() []schema.Key {
	keys := append(d.ports.Keys(), schema.One("bantime", &d.honeypot.BanTime, schema.Duration(time.Second, model.LongestBan)))
	return []schema.Key{schema.Noting(&d.line, schema.Section("honeypot", keys...))}
}

// Finish implements schema.Draft.
func (d *Draft) Finish(faults *schema.Faults) {
	d.honeypot.Ports = d.ports.Set()
	if d.line > 0 && d.ports.Line == 0 {
		faults.Add(d.line, "%s: give the ports: tcp, udp or both", key)
	}
	for _, protocol := range []model.Protocol{model.TCP, model.UDP} {
		for _, port := range d.ports.Of(protocol) {
			d.refuseUsed(faults, protocol, port)
		}
	}
}

func (d *Draft) refuseUsed(faults *schema.Faults, protocol model.Protocol, port schema.At[model.Ports]) {
	for _, user := range d.users {
		user.EachPort(protocol, func(used model.Ports, whose string, args ...any) {
			if used.First <= port.Value.Last && port.Value.First <= used.Last {
				faults.Add(port.Line, "%s.%s: %s: %s", key, protocol, port.Value, faults.Sprintf(port.Line, whose, args...))
			}
		})
	}
}

// Bans are for how long it bans: not at all where it has no ports.
func (d *Draft) Bans() iter.Seq2[string, time.Duration] {
	return func(yield func(string, time.Duration) bool) {
		if set := d.ports.Set(); !set.Empty() {
			yield(key+".bantime", d.honeypot.BanTime)
		}
	}
}
