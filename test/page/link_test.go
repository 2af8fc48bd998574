package page

import (
	"bufio"
	"context"
	"strings"
	"testing"
	"time"
)

// The page ends with who reads its link, as when an ssh without a terminal has ended, and has an address of its own.
func TestPageEndsWithItsReader(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	command := g.Gateway.Command(context.Background(), program, "page", "--instance", g.ID())
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	link, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || !strings.HasPrefix(link, "http://127.") || strings.HasPrefix(link, "http://127.0.0.1:") {
		t.Errorf("the link is %q, %v", link, err)
	}
	_ = out.Close()
	over := make(chan error)
	go func() { over <- command.Wait() }()
	select {
	case err := <-over:
		if err != nil {
			t.Errorf("it ends with %v", err)
		}
	case <-time.After(callLimit):
		t.Error("it goes on")
		_ = command.Process.Kill()
		t.Log(<-over)
	}
}
