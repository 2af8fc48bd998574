package doctor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Where room or time gets short.
const (
	leastDisk    = 16 << 20 // bytes
	soonEnds     = 21 * 24 * time.Hour
	mebibyte     = 1 << 20
	statusFaults = 5 // that are shown of the gateway's own warnings
)

func memory(f *Facts) verdict {
	m := f.Memory
	text := fmt.Sprintf("capacity %d takes up to %d MiB, and %d MiB are available", m.Capacity, m.Needed/mebibyte, m.Available/mebibyte)
	switch {
	case m.Needed > m.Available:
		return verdict{faults: []Fault{bad(text, "lower capacity: realmgate tune --sessions N")}}
	case m.Needed > m.Available-m.Available/10:
		return verdict{faults: []Fault{warn(text, "lower capacity: realmgate tune --sessions N")}}
	}
	return either(text, nil)
}

func disk(f *Facts) verdict {
	d := f.Disk
	switch {
	case d.ReadOnly:
		return verdict{faults: []Fault{bad(d.Folder+" cannot be written: bans and bindings end with the daemon", "mount -o remount,rw "+d.Folder)}}
	case d.Free < leastDisk || !d.Inodes:
		return verdict{faults: []Fault{bad(fmt.Sprintf("%s has %d KiB left: bans and bindings may not outlive the daemon", d.Folder, d.Free/1024), "make room: df "+d.Folder)}}
	}
	return either(fmt.Sprintf("%s has %d MiB left", d.Folder, d.Free/mebibyte), nil)
}

func certificate(f *Facts) verdict {
	c := f.Certificate
	left := c.Ends.Sub(f.Now)
	renew := "put a new one there, and realmgate reload"
	switch {
	case c.Error != "":
		return verdict{faults: []Fault{bad(c.Error, "correct api.certificate and api.key")}}
	case left <= 0:
		return verdict{faults: []Fault{bad(fmt.Sprintf("%s has ended on %s", c.File, c.Ends.Format(time.DateOnly)), renew)}}
	case left < soonEnds:
		return verdict{faults: []Fault{warn(fmt.Sprintf("%s ends on %s", c.File, c.Ends.Format(time.DateOnly)), renew)}}
	}
	return either(fmt.Sprintf("%s is good until %s", c.File, c.Ends.Format(time.DateOnly)), nil)
}

func clock(f *Facts) verdict {
	if !f.Clock.Synchronised {
		return verdict{faults: []Fault{warn("nobody sets the clock: logs name the wrong moment, and certificates end at another", "timedatectl set-ntp true")}}
	}
	return either("it is synchronised", nil)
}

func gateway(f *Facts) verdict {
	g := f.Gateway
	switch {
	case g.Answers:
		return either(fmt.Sprintf("process %d answers", g.PID), nil)
	case g.PID != 0:
		return verdict{faults: []Fault{bad(fmt.Sprintf("process %d has the control socket, and does not answer: %s", g.PID, g.Error),
			fmt.Sprintf("realmgate bugreport, then kill -KILL %d and start it again: sessions go on", g.PID))}}
	case g.AtWork && g.Error == "":
		return verdict{faults: []Fault{bad("no daemon runs, and its data plane is at work: names are not answered, and nothing ages",
			"realmgate run -c "+cmp.Or(f.Configuration.File, "FILE")+", or systemctl start realmgate")}}
	case g.Error != "":
		return verdict{faults: []Fault{warn("it cannot be asked: "+g.Error, "run the doctor as root, or as a member of the group realmgate-read")}}
	}
	return either("none runs", nil)
}

// status is what the gateway warns of itself, but what was found without it.
func status(f *Facts) verdict {
	known := f.Doubts.All()
	var faults []Fault
	for _, w := range f.Gateway.Warnings {
		if len(faults) < statusFaults && !slices.Contains(known, w) {
			faults = append(faults, doubts(Warning, []string{w})...)
		}
	}
	return either("the gateway warns of nothing else", faults)
}

func delegation(f *Facts) verdict {
	var faults []Fault
	var good []string
	for _, d := range f.Delegations {
		records := fmt.Sprintf("%s NS %s", d.Zone, d.Wanted)
		if d.To.IsValid() {
			records += fmt.Sprintf(" and %s A %s", d.Wanted, d.To)
		}
		remedy := "have the zone above say " + records
		switch {
		case !d.found():
		case d.Error != "":
			faults = append(faults, warn(fmt.Sprintf("%s does not say where %s is served: %s", d.Parent, d.Zone, d.Error), remedy))
		case !slices.ContainsFunc(d.Servers, func(s string) bool { return strings.EqualFold(s, d.Wanted) }):
			named := "nobody"
			if len(d.Servers) > 0 {
				named = strings.Join(d.Servers, ", ")
			}
			faults = append(faults, bad(fmt.Sprintf("%s says that %s is served by %s, and not by %s", d.Parent, d.Zone, named, d.Wanted), remedy))
		case d.To.IsValid() && !slices.Contains(d.Leads, d.To):
			faults = append(faults, bad(fmt.Sprintf("%s is at %v for who asks %s, and our name server is at %s", d.Wanted, d.Leads, d.Parent, d.To), remedy))
		default:
			good = append(good, fmt.Sprintf("%s leads here", d.Zone))
		}
	}
	return either(strings.Join(good, ", "), faults)
}
