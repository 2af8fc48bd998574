package nf

import (
	"fmt"

	"github.com/cilium/ebpf"

	"github.com/realmgate/realmgate/internal/model"
)

// protection6 makes the program that judges IPv6 packets by the functions of the
// protection, for each hook; none where these have no IPv6 addresses.
func protection6(steps []Step, shared Shared, hooks []*hook) error {
	spec, err := loadProtection6()
	if err != nil {
		return fmt.Errorf("read the protection of IPv6: %w", err)
	}
	numbers := map[string]uint32{}
	var list table6
	ports := make([]portCell, 1) // where none is asked for
	for _, s := range steps {
		name := ""
		switch f := s.Function.(type) {
		case Allowlist:
			name = "allowlist6"
			list, err = f.Remote.compile6()
		case Blocklist:
			name = "blocklist6"
		case Ports:
			name = "ports6"
			ports = f.marks()
		case Honeypot:
			name = "honeypot6"
		case Geofence:
			name = "geofence6"
		}
		if name != "" {
			numbers[name] = s.Number
		}
		if err != nil {
			return fmt.Errorf("function %s: %w", s.Name, err)
		}
	}
	if len(list) < 2 && (len(list) == 0 || list[0].Marks == 0) && len(ports) == 1 {
		return nil
	}
	own, err := list.own(spec)
	if err != nil {
		return err
	}
	defer closeMaps(own)
	if own["port_marks"], err = ArrayOf(spec.Maps["port_marks"], ports); err != nil {
		return fmt.Errorf("make the ports of the protection of IPv6: %w", err)
	}
	for _, h := range hooks {
		load := loadProtection6
		if h.buffer {
			load = loadProtection6TCX
		}
		spec, err := load()
		if err != nil {
			return fmt.Errorf("read the protection of IPv6: %w", err)
		}
		for name, number := range numbers {
			if err := spec.Variables[name].Set(number); err != nil {
				return fmt.Errorf("number the functions of the protection of IPv6: %w", err)
			}
		}
		for name, table := range own {
			spec.Maps[name].MaxEntries = table.MaxEntries()
		}
		if h.made.Protection, err = h.load(spec, "protection6", shared, own); err != nil {
			return fmt.Errorf("load the protection of IPv6: %w", err)
		}
	}
	return nil
}

// own makes the maps that have the table.
func (list table6) own(spec *ebpf.CollectionSpec) (made map[string]*ebpf.Map, err error) {
	made = map[string]*ebpf.Map{}
	if made["remote6_ranges"], err = ArrayOf(spec.Maps["remote6_ranges"], list); err == nil {
		made["remote6_prefixes"], err = ArrayOf(spec.Maps["remote6_prefixes"], list.prefixes())
	}
	if err != nil {
		closeMaps(made)
		return nil, fmt.Errorf("make the table of the protection of IPv6: %w", err)
	}
	return made, nil
}

// marked6 is a set, and what is known of its addresses.
type marked6 struct {
	set   *model.AddressSet
	marks uint64
}

// marked6 are the sets of IPv6 addresses, each one once.
func (r Remote) marked6() (list []marked6) {
	for shift, of := range []Addresses{r.In, r.Out} {
	sets:
		for _, m := range []struct {
			set  *model.AddressSet
			mark protection6RemoteMark
		}{{of.Allowed, protection6RemoteMarkREMOTE_ALLOWED}, {of.Blocked, protection6RemoteMarkREMOTE_BLOCKED}, {of.Fenced, protection6RemoteMarkREMOTE_FENCED}} {
			if m.set == nil || len(m.set.Ranges6()) == 0 {
				continue
			}
			marks := uint64(m.mark) << (shift * int(protection6RemoteMarkREMOTE_MARKS))
			for i := range list {
				if list[i].set == m.set {
					list[i].marks |= marks
					continue sets
				}
			}
			list = append(list, marked6{m.set, marks})
		}
	}
	return list
}
