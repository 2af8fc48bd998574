package config

import (
	"slices"
	"strings"

	"github.com/realmgate/realmgate/internal/model"
)

// external is an entry of outbound.addresses and pool.addresses: addresses, or the interface that has them.
type external struct {
	span   span
	device string
}

// externals is an address, a prefix, a range or an interface.
func externals(most int) kind[external] {
	addresses, devices := spans(most), device()
	return kind[external]{
		name: "address, prefix, range or interface", allowed: addresses.allowed, tags: textTag,
		want: addresses.want + ", or an interface (eth0)",
		show: func(e external) string {
			if e.device != "" {
				return e.device
			}
			return addresses.show(e.span)
		},
		parse: func(text string) (external, error) {
			if strings.ContainsFunc(text, isLetter) && !strings.ContainsAny(text, ":/") {
				name, err := devices.parse(text)
				return external{device: name}, err
			}
			s, err := addresses.parse(text)
			return external{span: s}, err
		},
	}
}

func isLetter(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' }

// Follows reports whether outbound addresses are those of interfaces, which may change.
func (o *Outbound) Follows() bool { return len(o.Addresses) == 0 || len(o.Interfaces) > 0 }

func (d *draft) finishOutbound() {
	o := &d.config.Outbound
	named, interfaces := d.split(d.outbound, "outbound.addresses")
	o.Interfaces = valuesOf(interfaces)
	o.Addresses = d.expand(named, "outbound.addresses", model.MaxOutbound)
	if n := len(o.Addresses); o.Slots > 0 && n > o.Slots {
		d.faults.add(d.outbound[0].line, "outbound.addresses: %d addresses, but outbound.slots is %d", n, o.Slots)
	}
}

// split parts addresses from interfaces, which are outside and listed once.
func (d *draft) split(list []at[external], key string) (named []at[span], interfaces []at[string]) {
	lines := map[string]int{}
	for _, entry := range list {
		name := entry.value.device
		switch line, twice := lines[name]; {
		case name == "":
			named = append(named, at[span]{entry.value.span, entry.line})
		case twice:
			d.faults.add(entry.line, "%s: %s is already listed at line %d", key, name, line)
		case slices.ContainsFunc(d.private, func(device at[string]) bool { return device.value == name }):
			d.faults.add(entry.line, "%s: %s is in interfaces.private: name a public interface", key, name)
		default:
			lines[name] = entry.line
			interfaces = append(interfaces, at[string]{name, entry.line})
		}
	}
	return named, interfaces
}
