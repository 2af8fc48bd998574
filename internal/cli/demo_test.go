package cli

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/realmgate/realmgate/internal/lab/demo"
)

func TestDemoExitCodes(t *testing.T) {
	for _, c := range []struct {
		err  error
		args string
		code int
		says string
	}{
		{nil, "", exitOK, ""},
		{fmt.Errorf("%w at step 2: a wrong page", demo.ErrFailed), "", exitError, "realmgate: the demo failed at step 2: a wrong page\n"},
		{demo.ErrNotRoot, "", exitError, "root"},
		{context.Canceled, "", exitError, "interrupted"},
		{nil, "--remove demo-00000000 --keep", exitUsage, "--remove goes with no other flag"},
		{nil, "more", exitUsage, `"more"`},
	} {
		var stdout, stderr bytes.Buffer
		a := newApp(&stdout, &stderr)
		command := newDemoOf(a, func(_ context.Context, o demo.Options) error {
			if o.Colour || o.JSON || o.Keep || o.Out == nil {
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
