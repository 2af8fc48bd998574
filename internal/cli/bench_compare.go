package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/realmgate/realmgate/internal/lab/bench/report"
)

func newBenchCompare(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "compare A/result.json B/result.json",
		Short: "Compare two reports",
		Long: `Put two reports of bench run side by side: how each metric changed, and whether
that is within the spread, which it is where the ranges from the 1st to the 99th
percentile overlap; then the ratios between devices, and whether they are within
15 % of each other. It warns where machine or options were not the same. The exit
code says nothing of the figures.`,
		Example: "  realmgate bench compare before/result.json after/result.json",
		Args:    takes("the first result.json", "the second result.json"),
		RunE: func(command *cobra.Command, args []string) error {
			return does(func(context.Context) error {
				before, err := report.Read(args[0])
				if err != nil {
					return err
				}
				after, err := report.Read(args[1])
				if err != nil {
					return err
				}
				return written(report.Compare(a.stdout, before, after, terminalWidth(a.stdout)))
			})(command, args)
		},
	}
}
