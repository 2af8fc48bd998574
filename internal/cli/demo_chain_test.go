package cli

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/realmgate/realmgate/internal/lab/demo"
)

// What was seen is drawn though it is not as it should be.
func TestDemoChainDraws(t *testing.T) {
	measured := demo.Measured{Every: 10, Flows: []demo.Flow{{Port: 53, Rates: []float64{50e6, 0}}, {Port: 123, Rates: []float64{50e6, 0}}}}
	for _, failed := range []error{nil, demo.ErrFailed} {
		path := filepath.Join(t.TempDir(), "throughput.svg")
		a := newApp(&bytes.Buffer{}, &bytes.Buffer{})
		command := newDemoChainOf(a, func(context.Context, demo.ChainOptions) (demo.Measured, error) {
			return measured, failed
		})
		command.SetArgs([]string{"--svg", path})
		command.SilenceUsage, command.SilenceErrors = true, true
		if _, err := command.ExecuteContextC(t.Context()); !errors.Is(err, failed) {
			t.Errorf("it ended with %v, want %v", err, failed)
		}
		text, err := os.ReadFile(path)
		if err != nil || !strings.HasPrefix(string(text), "<svg ") || !strings.Contains(string(text), "flow 2, to port 123") {
			t.Errorf("%v: %s", err, text)
		}
	}
}
