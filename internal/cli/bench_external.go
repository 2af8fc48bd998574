package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/realmgate/realmgate/internal/lab/bench"
	"github.com/realmgate/realmgate/internal/lab/bench/dut"
	"github.com/realmgate/realmgate/internal/lab/bench/scenario"
)

// placeExternal puts the box between two interfaces into the options. Nothing runs
// beside it: neither another device, nor the control, which would need its place.
// Only the paced set-up is possible: the box does not take turns with the tester.
func (f benchFlags) placeExternal(s bench.Scenario, o *bench.Options, given func(flag string) bool) error {
	isExternal := func(m bench.Model) bool { return m.External }
	asked := slices.ContainsFunc(o.Devices, isExternal)
	switch {
	case len(f.external) == 0 && !asked && f.reset != "":
		return fmt.Errorf("--reset is for a box of your own: give --external, too")
	case len(f.external) == 0 && !asked:
		return nil
	case len(f.external) != 2:
		return fmt.Errorf("--external wants two interfaces, INITIATOR,RESPONDER: the box's private side first")
	case len(f.duts) > 0 && (len(f.duts) > 1 || !asked):
		return fmt.Errorf("--external measures one box alone: leave --dut out")
	case !s.External:
		return fmt.Errorf("%s cannot be measured on an external box; these can: %s", s.Name, strings.Join(externalScenarios(), ", "))
	case s.Emptied && f.reset == "":
		return fmt.Errorf("%s wants an empty table for each trial: give a command that ends all sessions of the box with --reset", s.Name)
	case f.setup == string(bench.SelfClocked):
		return fmt.Errorf("an external box has a clock of its own: it is measured with --setup paced alone")
	}
	o.External = bench.External{Initiator: f.external[0], Responder: f.external[1], Reset: f.reset}
	o.Mode, o.Null = bench.Paced, bench.Model{}
	if !given("sessions") {
		o.Sessions = externalSessions
	}
	if !asked {
		o.Devices = slices.DeleteFunc(dut.All(), func(m bench.Model) bool { return !m.External })
	}
	return nil
}

func externalScenarios() (names []string) {
	for _, s := range scenario.All() {
		if s.External {
			names = append(names, s.Name)
		}
	}
	return names
}
