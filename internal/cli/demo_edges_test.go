package cli

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/realmgate/realmgate/internal/lab/demo"
)

func TestDemoEdgesExitCodes(t *testing.T) {
	for _, c := range []struct {
		err  error
		args string
		code int
		says string
	}{
		{nil, "--json", exitOK, ""},
		{fmt.Errorf("%w at step 4: a frame between the edges", demo.ErrFailed), "", exitError, "realmgate: the demo failed at step 4: a frame between the edges\n"},
		{demo.ErrNotRoot, "", exitError, "root"},
		{context.Canceled, "", exitError, "interrupted"},
		{nil, "--keep", exitUsage, "--keep"},
		{nil, "more", exitUsage, `"more"`},
	} {
		var stdout, stderr bytes.Buffer
		a := newApp(&stdout, &stderr)
		command := newDemoEdgesOf(a, func(_ context.Context, o demo.EdgesOptions) error {
			if o.Colour || o.JSON != (c.args == "--json") || o.Out == nil {
				t.Errorf("options %+v", o)
			}
			return c.err
		})
		command.SilenceUsage, command.SilenceErrors = true, true
		command.SetArgs(strings.Fields(c.args))
		ran, err := command.ExecuteContextC(t.Context())
		if code := a.report(ran, err); code != c.code || !strings.Contains(stderr.String(), c.says) {
			t.Errorf("%v %q: exit code %d, %q", c.err, c.args, code, stderr.String())
		}
	}
}
