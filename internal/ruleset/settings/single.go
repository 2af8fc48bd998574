package settings

import "github.com/realmgate/realmgate/internal/schema"

// ofGateway are functions that a machine with nobody behind it does not have, and why.
var ofGateway = map[string]string{
	"dnat":      "it leads flows to hosts inside",
	"multipath": "it leads flows to hosts inside",
	"ask":       "only a gateway sends again what it holds",
}

// finishSingle refuses what a match says of hosts inside where there are none, and takes it for not given.
func (d *matchEntry) finishSingle(faults *schema.Faults) {
	for key, line := range map[string]*int{"host": &d.hostLine, "service": &d.serviceLine} {
		if *line > 0 {
			faults.Add(*line, "%s.%s: a single machine has no hosts inside: name its address, by from or to", d.path, key)
			*line = 0
		}
	}
}

// finishSingle refuses a function that is for hosts inside.
func (f *functionEntry) finishSingle() {
	if why := ofGateway[f.function.Use]; why != "" {
		f.given.Add(f.given.Line, "%s: a single machine has no %s: %s", f.given.Path, f.function.Use, why)
	}
}
