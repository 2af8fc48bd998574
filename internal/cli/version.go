package cli

import (
	"context"
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/realmgate/realmgate/internal/client"
)

func newVersion(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version of this program",
		Long: `Print the version of this program and the Go that built it. The version of the
running gateway, which may be another, is in "realmgate status".`,
		Example: `  realmgate version`,
		Args:    cobra.NoArgs,
		RunE: does(func(context.Context) error {
			_, err := fmt.Fprintf(a.stdout, "realmgate %s, %s %s/%s\n", client.Version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return written(err)
		}),
	}
}
