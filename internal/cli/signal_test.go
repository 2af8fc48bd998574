package cli

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// asProgram makes the test binary run one command line, as cmd/realmgate does.
const asProgram = "REALMGATE_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		os.Exit(Main(os.Args[1:], os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// A real Ctrl-C closes the array.
func TestSignals(t *testing.T) {
	socket := populated().serve(t)
	for _, signal := range []os.Signal{syscall.SIGINT, syscall.SIGTERM} {
		command := exec.CommandContext(t.Context(), os.Args[0], "drops", "-o", "json", "--socket", socket)
		command.Env = append(os.Environ(), asProgram+"=1")
		var stderr strings.Builder
		command.Stderr = &stderr
		pipe, err := command.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := command.Start(); err != nil {
			t.Fatal(err)
		}
		var text strings.Builder
		reader := bufio.NewReader(io.TeeReader(pipe, &text))
		for line := ""; !strings.Contains(line, "drop_malformed"); {
			if line, err = reader.ReadString('\n'); err != nil {
				t.Fatal(err, stderr.String())
			}
		}
		if err := command.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, reader); err != nil {
			t.Error(err)
		}
		if err := command.Wait(); err != nil || stderr.Len() > 0 || !json.Valid([]byte(text.String())) {
			t.Errorf("%v: %v, %s%s", signal, err, text.String(), &stderr)
		}
	}
}
