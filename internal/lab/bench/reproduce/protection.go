package reproduce

import "fmt"

var protecting = Job{Name: "protection", Scenario: "protection"}

// mostProtected is the aim of what the protection takes of a new connection, in ns.
const mostProtected = 200

// protections is under load, with connections that come one at a time, and at the highest
// rate that ipt_geofence's authors offered.
func protections(e Evidence) shown {
	load, alone := e.protection("verdict"), e.protection("verdict_alone")
	lost := e.rates(protecting.Name, "realmgate", "loss", "offered")
	last := lost[len(lost)-1]
	none := Yes
	for _, l := range lost {
		if l.most > 0 {
			none = No
		}
	}
	return shown{
		fmt.Sprintf("%s; one at a time %s; at %s/s offered %.3f %% lost", load.text, alone.text, si(last.x), last.median),
		together(load.met, alone.met, none),
	}
}

// protection is a verdict of Realmgate's beside nfqueue's.
func (e Evidence) protection(metric string) shown {
	ours, theirs := e.figure(protecting.Name, "realmgate", metric, nil), e.figure(protecting.Name, "nfqueue", metric, nil)
	return shown{fmt.Sprintf("Realmgate %s, nfqueue %s", ours.in(" ns", whole), theirs.in(" ns", whole)), ours.below(mostProtected)}
}
