package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/realmgate/realmgate/internal/lab/bench"
	"github.com/realmgate/realmgate/internal/lab/bench/dut"
	"github.com/realmgate/realmgate/internal/lab/bench/scenario"
)

func newBenchList(a *app) *cobra.Command {
	command := &cobra.Command{
		Use: "list", Short: "List scenarios and devices, and what is their default", Args: cobra.NoArgs,
		Long: `List what can be measured, the devices that can be measured, and what each
scenario takes where no flag of bench run says otherwise.`,
		Example: `  realmgate bench list
  realmgate bench list -o json | jq -r '.scenarios[].name'`,
	}
	output := outputFlag(command)
	command.RunE = does(func(context.Context) error {
		list := listed(scenario.All(), dut.All())
		if output.value == "json" {
			return writeJSON(a.stdout, list)
		}
		return list.write(a)
	})
	return command
}

// benchList is what bench list tells.
type benchList struct {
	Scenarios []listedScenario `json:"scenarios"`
	Devices   []listedDevice   `json:"devices"`
}

type listedScenario struct {
	Name    string       `json:"name"`
	About   string       `json:"about"`
	Devices []string     `json:"devices"` // unless others are asked for
	Modes   []bench.Mode `json:"set_ups"` // the first is the default
	Root    bool         `json:"root"`    // it needs root

	Sessions int `json:"sessions,omitempty"` // as well; none where no traffic is sent
	Rounds   int `json:"rounds,omitempty"`   // in the profile quick
}

type listedDevice struct {
	Name  string   `json:"name"`
	About string   `json:"about"`
	Tools []string `json:"tools"` // programs that it needs
}

func listed(scenarios []bench.Scenario, devices []bench.Model) benchList {
	list := benchList{}
	for _, s := range scenarios {
		l := listedScenario{
			Name: s.Name, About: s.About, Devices: append([]string{}, s.Devices...), Modes: append([]bench.Mode{}, s.Modes...), Root: !s.NoRoot,
		}
		if len(s.Modes) > 0 {
			l.Sessions, l.Rounds = sessionsOf(s), cmp.Or(s.Repeat, bench.Quick.Repeat())
		}
		list.Scenarios = append(list.Scenarios, l)
	}
	for _, m := range devices {
		list.Devices = append(list.Devices, listedDevice{Name: m.Name, About: m.About, Tools: append([]string{}, m.Tools...)})
	}
	return list
}

func (l benchList) write(a *app) error {
	scenarios, defaults := newTable("SCENARIO", "WHAT IT MEASURES"), newTable("DEFAULTS OF", ">SESSIONS", ">ROUNDS", "SET-UP", "DEVICES")
	devices := newTable("DEVICE", "WHAT IT IS")
	for _, s := range l.Scenarios {
		scenarios.add(s.Name, s.About)
		if len(s.Modes) > 0 {
			defaults.add(s.Name, count(uint64(s.Sessions)), fmt.Sprint(s.Rounds), string(s.Modes[0]), strings.Join(s.Devices, ","))
		}
	}
	for _, d := range l.Devices {
		devices.add(d.Name, d.About)
	}
	for i, t := range []*table{scenarios, devices, defaults} {
		if i > 0 {
			if _, err := a.stdout.Write([]byte("\n")); err != nil {
				return written(err)
			}
		}
		if err := t.write(a.stdout); err != nil {
			return err
		}
	}
	return nil
}
