package cli

import (
	"context"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// What tshark 4.0 and tcpdump 4.99 read as two packets, 123,456,789 ns and 2 s after started: received by eth0 and eth1, with
// 1,200 lost between them.
const capturedFile = "0a0d0d0a1c0000004d3c2b1a01000000ffffffffffffffff1c000000" +
	"010000002800000001000000ffff0000020004006574683009000100090000000000000028000000" +
	"060000006c00000000000000d9b59818154d32bb0e000000400000000200000000016162636465660800000001001e006d6972726f723b206f66206120666c6f" +
	"77207468617420676f657320696e00000200040001000000040008000000000000000000000000006c000000" +
	"010000002800000001000000ffff0000020004006574683109000100090000000000000028000000" +
	"060000006000000001000000dab5981800140c2b03000000030000000102030001001e006d6972726f723b206f66206120666c6f77207468617420676f657320" +
	"696e0000020004000100000004000800b0040000000000000000000060000000"

func TestCapture(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.pcapng")
	for line, want := range map[string]struct{ asked, stderr, written string }{
		"--count 2":                             {"?chain=web&snap=65535", "2 packets captured, 1,200 lost\n", ""},
		"--count 1 --function mirror --snap 96": {"?chain=web&function=mirror&snap=96", "1 packet captured, 0 lost\n", ""},
		"--count 2 -w -":                        {"?chain=web&snap=65535", "capturing chain web: end with Ctrl-C\n2 packets captured, 1,200 lost\n", capturedFile},
		"--count 2 --write " + file:             {"?chain=web&snap=65535", "capturing chain web: end with Ctrl-C\n2 packets captured, 1,200 lost\n", capturedFile},
	} {
		d := populated()
		r := execute(t.Context(), append(strings.Fields("capture --chain web "+line), "--socket", d.serve(t))...)
		if got := d.asked(t); r.code != exitOK || r.stderr != want.stderr || got != "/v1/capture"+want.asked {
			t.Errorf("%s: exit %d, asked for %s, %s", line, r.code, got, r.stderr)
		}
		if line == "--count 2" {
			golden(t, "capture", r.stdout)
		}
		written := r.stdout
		if strings.HasSuffix(line, file) {
			text, err := os.ReadFile(file)
			if err != nil || r.stdout != "" {
				t.Errorf("%s: %v, %q", line, err, r.stdout)
			}
			written = string(text)
		}
		if want.written != "" && hex.EncodeToString([]byte(written)) != want.written {
			t.Errorf("%s wrote\n%x, want\n%s", line, written, want.written)
		}
	}
}

// Drops go into the same file. There is nothing to choose of them, and nothing for a line to say that realmgate drops does not.
func TestCaptureDrops(t *testing.T) {
	d := populated()
	r := execute(t.Context(), "capture", "--drops", "--count", "2", "-w", "-", "--socket", d.serve(t))
	if got := d.asked(t); r.code != exitOK || got != "/v1/capture/drops" || hex.EncodeToString([]byte(r.stdout)) != capturedFile ||
		r.stderr != "capturing what is dropped: end with Ctrl-C\n2 packets captured, 1,200 lost\n" {
		t.Errorf("asked for %s: %+v", got, r)
	}
	for line, want := range map[string]string{
		"--drops --chain web -w -":  "--drops captures of every chain: leave out --chain, --function and --snap",
		"--drops --snap 40 -w -":    "--drops captures of every chain: leave out --chain, --function and --snap",
		"--drops":                   "--drops needs -w FILE: realmgate drops shows a line for each",
		"--function mirror -w FILE": "say which chain with --chain CHAIN (see realmgate chain list), or --drops",
	} {
		if r := execute(t.Context(), append([]string{"capture"}, strings.Fields(line)...)...); r.code != exitUsage || !strings.Contains(r.stderr, want) {
			t.Errorf("%s: %+v, want %s", line, r, want)
		}
	}
}

// A capture ends by itself with success on Ctrl-C alone, and always says how much it has.
func TestCaptureEnds(t *testing.T) {
	const said = "capturing chain web: end with Ctrl-C\n2 packets captured, 1,200 lost\n"
	ctx, stop := context.WithCancel(t.Context())
	stdout, stderr := &cancelAfter{text: "\x03\x00\x00\x00\x01\x02\x03\x00", stop: stop}, &strings.Builder{}
	if code := newApp(stdout, stderr).main(ctx, []string{"capture", "--chain", "web", "-w", "-", "--socket", populated().serve(t)}); code != exitOK || stderr.String() != said {
		t.Errorf("Ctrl-C: exit %d, %s", code, stderr)
	}
	d := populated()
	d.breaks = true
	r := execute(t.Context(), "capture", "--chain", "web", "-w", "-", "--socket", d.serve(t))
	if r.code != exitError || r.stderr != said+"realmgate: the gateway is stopping\n" {
		t.Errorf("the daemon ends: %+v", r)
	}
}

// What cannot begin leaves a file as it is, and what cannot be written is told at once.
func TestCaptureThatFails(t *testing.T) {
	d := populated()
	d.refusal = `there is no chain "wbe": see realmgate chain list`
	file := filepath.Join(t.TempDir(), "a.pcapng")
	if err := os.WriteFile(file, []byte("kept"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := execute(t.Context(), "capture", "--chain", "wbe", "-w", file, "--socket", d.serve(t))
	if text, err := os.ReadFile(file); r.code != exitError || r.stderr != "realmgate: "+d.refusal+"\n" || err != nil || string(text) != "kept" {
		t.Errorf("%+v, the file has %q: %v", r, text, err)
	}
	d = populated()
	d.packets = nil // nothing comes that would show it
	missing := filepath.Join(t.TempDir(), "no", "a.pcapng")
	r = execute(t.Context(), "capture", "--chain", "web", "-w", missing, "--socket", d.serve(t))
	want := "0 packets captured, 0 lost\nrealmgate: write packets: open " + missing + ": no such file or directory\n"
	if r.code != exitError || r.stderr != want {
		t.Errorf("%+v, want %s", r, want)
	}
	var stderr strings.Builder
	code := newApp(fullPipe{}, &stderr).main(t.Context(), []string{"capture", "--chain", "web", "-w", "-", "--socket", populated().serve(t)})
	if code != exitError || !strings.HasSuffix(stderr.String(), "\nrealmgate: write packets: no space left\n") {
		t.Errorf("exit %d, %s", code, &stderr)
	}
}

func TestCaptureIsNotForATerminal(t *testing.T) {
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip("there is no terminal to be had: ", err)
	}
	defer terminal.Close()
	var stderr strings.Builder
	code := newApp(terminal, &stderr).main(t.Context(), []string{"capture", "--chain", "web", "-w", "-", "--socket", populated().serve(t)})
	if code != exitUsage || !strings.Contains(stderr.String(), "packets are not for a terminal") {
		t.Errorf("exit %d, %s", code, &stderr)
	}
}
