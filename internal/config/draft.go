package config

import (
	"fmt"
	"net/netip"

	events "github.com/realmgate/realmgate/internal/events/settings"
	lists "github.com/realmgate/realmgate/internal/guard/lists/settings"
	watch "github.com/realmgate/realmgate/internal/guard/watch/settings"
	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/schema"
)

// draft is a configuration on its way: single values go straight into config,
// lists and the lines that later checks point at stay beside it.
type draft struct {
	faults *schema.Faults
	config Config
	known  []Set // whose files are not to be read

	public, private, stack, xdp, tcx        []schema.At[string]
	zones                                   []*zoneDraft
	keyDrafts                               []*keyDraft
	upstream                                []schema.At[netip.AddrPort]
	neverBan, clientSubnet, excepts         []schema.At[netip.Prefix]
	rebindOK                                []schema.At[model.Name]
	pool, outbound                          []schema.At[external]
	server                                  server
	hosts                                   []*hostDraft
	bands                                   []*bandDraft
	sets                                    []*setDraft
	bans                                    bansDraft
	watches, lists, sinks                   schema.Draft
	protection                              protectionDraft
	chains                                  []*chainDraft
	nameserverLine, publicLine, privateLine int

	uses map[netip.Addr][]use // what every address is for: one thing, or several of joint
}

// use is the key that an address or a name was given under.
type use struct {
	key  string
	line int
}

func (u use) String() string { return fmt.Sprintf("%s at line %d", u.key, u.line) }

func newDraft(faults *schema.Faults) *draft {
	d := &draft{faults: faults, config: defaults(), uses: make(map[netip.Addr][]use)}
	d.protection.protection = d.config.Protection
	d.protection.honeypot.ban = d.config.Protection.Honeypot.Ban
	d.watches = watch.New(&d.config.Watches)
	d.lists = lists.New(&d.config.Lists, &d.protection)
	d.sinks = events.New(&d.config.Events)
	return d
}

// finish checks how the values relate to each other and completes the config.
func (d *draft) finish() {
	d.finishInterfaces()
	d.finishAddresses()
	d.finishExcepts()
	d.finishUpstream()
	d.finishBands()
	d.finishZones()
	d.finishNames()
	d.protection.finishGeofences(d.faults)
	d.protection.finishGeoTable(d.faults)
	d.finishHoneypot()
	d.config.Protection = d.protection.protection
	d.finishSets()
	d.watches.Finish(d.faults)
	d.finishBans()
	d.lists.Finish(d.faults)
	d.sinks.Finish(d.faults)
	d.finishChains()
	d.config.Limits = d.config.Limits.of(d.config.Capacity)
	d.config.NeverBan = schema.Values(d.neverBan)
	d.config.DNS.ClientSubnet = schema.Values(d.clientSubnet)
	d.config.DNS.RebindDomainOK = schema.Values(d.rebindOK)
	for i, h := range d.hosts {
		d.config.Hosts = append(d.config.Hosts, h.finish(d.faults, i))
	}
}

func (d *draft) finishInterfaces() {
	seen := make(map[string]int)
	take := func(list []schema.At[string], side string) (names []string) {
		for _, device := range list {
			if device.Value == "lo" {
				d.faults.Add(device.Line, "interfaces.%s: lo is the loopback interface, by which only this machine's own packets come: name one that a network is at", side)
				continue
			}
			if line, twice := seen[device.Value]; twice {
				d.faults.Add(device.Line, "interfaces.%s: %s is already listed at line %d: an interface has one side", side, device.Value, line)
				continue
			}
			seen[device.Value] = device.Line
			names = append(names, device.Value)
		}
		return names
	}
	d.config.Interfaces.Public = take(d.public, "public")
	d.config.Interfaces.Private = take(d.private, "private")
	for _, device := range d.stack {
		if seen[device.Value] == 0 {
			d.faults.Add(device.Line, "interfaces.egress.stack: %s is in neither interfaces.public nor interfaces.private: add it to one", device.Value)
			continue
		}
		d.config.Interfaces.Stack = append(d.config.Interfaces.Stack, device.Value)
	}
	modes := make(map[string]int)
	attach := func(list []schema.At[string], mode string) (names []string) {
		for _, device := range list {
			switch line, twice := modes[device.Value]; {
			case twice:
				d.faults.Add(device.Line, "interfaces.%s: %s is already listed at line %d: an interface has one mode", mode, device.Value, line)
			case seen[device.Value] == 0:
				d.faults.Add(device.Line, "interfaces.%s: %s is in neither interfaces.public nor interfaces.private: add it to one", mode, device.Value)
			default:
				names = append(names, device.Value)
			}
			modes[device.Value] = device.Line
		}
		return names
	}
	d.config.Interfaces.XDP = attach(d.xdp, "xdp")
	d.config.Interfaces.TCX = attach(d.tcx, "tcx")
}
