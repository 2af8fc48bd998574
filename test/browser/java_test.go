package browser

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// java is a Java program that goes on fetching pages by name: testdata/Ask.java.
type java struct {
	mutex  sync.Mutex
	input  io.Writer
	output *bufio.Scanner
}

// newJava compiles and starts it on the machine, with options for the virtual
// machine.
func newJava(m *machine, options ...string) (*java, error) {
	for _, tool := range []string{"java", "javac"} {
		if _, err := exec.LookPath(tool); err != nil {
			return nil, err
		}
	}
	if out, err := exec.Command("javac", "-d", m.directory, "testdata/Ask.java").CombinedOutput(); err != nil { // #nosec G204 -- of the test's own
		return nil, fmt.Errorf("javac: %w: %s", err, out)
	}
	command := m.command(context.Background(), "java", append(options, "-cp", m.directory, "Ask")...)
	input, err := command.StdinPipe()
	if err != nil {
		return nil, err
	}
	output, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, err
	}
	return &java{input: input, output: bufio.NewScanner(output)}, nil
}

// fetch implements fetcher. The program has at most ten seconds for each step.
func (j *java) fetch(_ context.Context, name string) (string, error) {
	return j.fetchPort(name, 80, 10*time.Second)
}

func (j *java) fetchPort(name string, port int, limit time.Duration) (string, error) {
	j.mutex.Lock()
	defer j.mutex.Unlock()
	if _, err := fmt.Fprintf(j.input, "%s %d %d\n", strings.TrimSuffix(name, "."), port, limit.Milliseconds()); err != nil {
		return "", err
	}
	if !j.output.Scan() {
		return "", fmt.Errorf("the Java program ended: %w", io.ErrUnexpectedEOF)
	}
	text := j.output.Text()
	if strings.HasPrefix(text, "error ") {
		return "", fmt.Errorf("java: %s", text)
	}
	return text, nil
}
