package config

import (
	"slices"
	"strings"

	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/schema"
)

// external is an entry of outbound.addresses and pool.addresses: addresses, or the interface that has them.
type external struct {
	span   span
	device string
}

// externals is an address, a prefix, a range or an interface.
func externals(most int) schema.Kind[external] {
	addresses, devices := spans(most), schema.Device()
	return schema.Kind[external]{
		Name: "address, prefix, range or interface", Allowed: addresses.Allowed, Tags: schema.TextTag,
		Want: addresses.Want + ", or an interface (eth0)",
		Show: func(e external) string {
			if e.device != "" {
				return e.device
			}
			return addresses.Show(e.span)
		},
		Parse: func(text string) (external, error) {
			if strings.ContainsFunc(text, isLetter) && !strings.ContainsAny(text, ":/") {
				name, err := devices.Parse(text)
				return external{device: name}, err
			}
			s, err := addresses.Parse(text)
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
	o.Interfaces = schema.Values(interfaces)
	o.Addresses = d.expand(named, "outbound.addresses", model.MaxOutbound)
	if n := len(o.Addresses); o.Slots > 0 && n > o.Slots {
		d.faults.Add(d.outbound[0].Line, "outbound.addresses: %d addresses, but outbound.slots is %d", n, o.Slots)
	}
}

// split parts addresses from interfaces, which are outside and listed once.
func (d *draft) split(list []schema.At[external], key string) (named []schema.At[span], interfaces []schema.At[string]) {
	lines := map[string]int{}
	for _, entry := range list {
		name := entry.Value.device
		switch line, twice := lines[name]; {
		case name == "":
			named = append(named, schema.At[span]{Value: entry.Value.span, Line: entry.Line})
		case twice:
			d.faults.Add(entry.Line, "%s: %s is already listed at line %d", key, name, line)
		case slices.ContainsFunc(d.private, func(device schema.At[string]) bool { return device.Value == name }):
			d.faults.Add(entry.Line, "%s: %s is in interfaces.private: name a public interface", key, name)
		default:
			lines[name] = entry.Line
			interfaces = append(interfaces, schema.At[string]{Value: name, Line: entry.Line})
		}
	}
	return named, interfaces
}
