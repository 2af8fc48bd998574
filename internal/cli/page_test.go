package cli

import (
	"context"
	"net"
	"net/netip"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A page without a port has an address of its own, which no browser confuses with that of another program.
func TestPageHasAnAddressOfItsOwn(t *testing.T) {
	t.Parallel()
	seen := map[netip.Addr]bool{}
	for range 100 {
		at := loopback(0)
		if !at.Addr().IsLoopback() || at.Port() != 0 || at.Addr() == netip.MustParseAddr("127.0.0.1") {
			t.Errorf("it is served at %s", at)
		}
		seen[at.Addr()] = true
	}
	if len(seen) < 99 {
		t.Errorf("100 pages have %d addresses", len(seen))
	}
	if at := loopback(9471); at.String() != "127.0.0.1:9471" {
		t.Errorf("with a port it is served at %s", at)
	}
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp4", loopback(0).String())
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
}

// What is served ends with who reads its link, be it by a pipe or by a socket, as ssh has it; a file has no reader.
func TestUntilHangup(t *testing.T) {
	t.Parallel()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	for what, ends := range map[string][2]*os.File{"pipe": {read, write}, "socket": {os.NewFile(uintptr(pair[0]), "a"), os.NewFile(uintptr(pair[1]), "b")}} {
		ctx, end := untilHangup(t.Context(), ends[1])
		if ctx.Err() != nil {
			t.Errorf("%s: it has ended before", what)
		}
		_ = ends[0].Close()
		select {
		case <-ctx.Done():
		case <-time.After(time.Minute):
			t.Errorf("%s: it goes on", what)
		}
		end()
		_ = ends[1].Close()
	}
	file, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	ctx, cancel := context.WithCancel(t.Context())
	still, end := untilHangup(ctx, file)
	defer end()
	if still.Err() != nil {
		t.Error("with a file it ends")
	}
	cancel()
	<-still.Done()
}
