package cli

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/realmgate/realmgate/internal/lab/demo"
)

func TestDemoProtectExitCodes(t *testing.T) {
	for _, c := range []struct {
		err  error
		args string
		code int
		says string
	}{
		{nil, "--json", exitOK, ""},
		{fmt.Errorf("%w at step 3: who is banned", demo.ErrFailed), "", exitError, "realmgate: the demo failed at step 3: who is banned\n"},
		{demo.ErrNotRoot, "", exitError, "root"},
		{context.Canceled, "", exitError, "interrupted"},
		{nil, "--keep", exitUsage, "--keep"},
		{nil, "more", exitUsage, `"more"`},
	} {
		var stdout, stderr bytes.Buffer
		a := newApp(&stdout, &stderr)
		command := newDemoProtectOf(a, func(_ context.Context, o demo.ProtectOptions) error {
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
