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

// What tcpdump 4.99 reads as two packets, 123,456,789 ns and 2 s after started.
const capturedFile = "4d3cb2a1" + "02000400" + "0000000000000000" + "ffff0000" + "01000000" +
	"402aa469" + "15cd5b07" + "0e000000" + "40000000" + "020000000001" + "616263646566" + "0800" +
	"422aa469" + "00000000" + "03000000" + "03000000" + "010203"

func TestCapture(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.pcap")
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

// A capture ends by itself with success on Ctrl-C alone, and always says how much it has.
func TestCaptureEnds(t *testing.T) {
	const said = "capturing chain web: end with Ctrl-C\n2 packets captured, 1,200 lost\n"
	ctx, stop := context.WithCancel(t.Context())
	stdout, stderr := &cancelAfter{text: "\x03\x00\x00\x00\x01\x02\x03", stop: stop}, &strings.Builder{}
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
	file := filepath.Join(t.TempDir(), "a.pcap")
	if err := os.WriteFile(file, []byte("kept"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := execute(t.Context(), "capture", "--chain", "wbe", "-w", file, "--socket", d.serve(t))
	if text, err := os.ReadFile(file); r.code != exitError || r.stderr != "realmgate: "+d.refusal+"\n" || err != nil || string(text) != "kept" {
		t.Errorf("%+v, the file has %q: %v", r, text, err)
	}
	d = populated()
	d.packets = nil // nothing comes that would show it
	missing := filepath.Join(t.TempDir(), "no", "a.pcap")
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
