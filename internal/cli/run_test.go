package cli

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/realmgate/realmgate/internal/daemon"
	"github.com/realmgate/realmgate/internal/schema"
)

func TestRunOptions(t *testing.T) {
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]daemon.Options{
		"run -c a.yaml": {
			ConfigFile: filepath.Join(here, "a.yaml"), Instance: "default", Socket: "/run/realmgate/default.sock",
		},
		"run --config /etc/b.yaml --instance lab_2 --keep-dataplane": {
			ConfigFile: "/etc/b.yaml", Instance: "lab_2", Socket: "/run/realmgate/lab_2.sock", KeepDataplane: true,
		},
		"run -c /b --instance lab --socket /tmp/b.sock --log-level debug": {ConfigFile: "/b", Instance: "lab", Socket: "/tmp/b.sock"},
	} {
		a := newApp(&bytes.Buffer{}, &bytes.Buffer{})
		var got daemon.Options
		a.runGateway = func(_ context.Context, o daemon.Options) error { got = o; return nil }
		code := a.main(t.Context(), strings.Fields(line))
		got.Logger, got.Next = nil, nil
		if code != exitOK || got != want {
			t.Errorf("%s: exit %d, %+v", line, code, got)
		}
	}
}

func TestRunLog(t *testing.T) {
	for flags, want := range map[string]string{
		"":                                   "level=INFO msg=informs\nlevel=WARN msg=warns\n",
		"--log-level debug":                  "level=DEBUG msg=debugs\nlevel=INFO msg=informs\nlevel=WARN msg=warns\n",
		"--log-level error":                  "",
		"--log-level warn --log-format json": `"level":"WARN","msg":"warns"}` + "\n",
	} {
		var stderr bytes.Buffer
		a := newApp(&bytes.Buffer{}, &stderr)
		a.runGateway = func(_ context.Context, o daemon.Options) error {
			o.Logger.Debug("debugs")
			o.Logger.Info("informs")
			o.Logger.Warn("warns")
			return nil
		}
		a.main(t.Context(), append([]string{"run", "-c", "x"}, strings.Fields(flags)...))
		var got strings.Builder
		for line := range strings.Lines(stderr.String()) {
			_, rest, _ := strings.Cut(strings.Replace(line, `",`, " ", 1), " ") // without the time
			got.WriteString(rest)
		}
		if got.String() != want {
			t.Errorf("%s: %s", flags, &stderr)
		}
	}
}

func TestRunErrors(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{errors.New("the data plane needs root: run as root"), "realmgate: the data plane needs root: run as root\n"},
		{schema.Errors{{File: "/a", Line: 1, Message: "one"}, {File: "/a", Line: 2, Message: "two"}}, "/a:1: one\n/a:2: two\n"},
	} {
		var stderr bytes.Buffer
		a := newApp(&bytes.Buffer{}, &stderr)
		a.runGateway = func(context.Context, daemon.Options) error { return c.err }
		if code := a.main(t.Context(), []string{"run", "-c", "x"}); code != exitError || stderr.String() != c.want {
			t.Errorf("exit %d, %s", code, &stderr)
		}
	}
}
