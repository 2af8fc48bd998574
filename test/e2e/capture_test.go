package e2e

import (
	"bytes"
	"context"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/lab/netns"
)

// mirrored copies what goes to and from the services echo and www of the first host.
var mirrored = fmt.Sprintf(`chains:
  - {name: echo, match: {service: echo.%[1]s}, functions: [{use: mirror}]}
  - {name: web, match: {service: www.%[1]s}, functions: [{use: filter, name: all}, {use: mirror, name: copy}]}
  - {name: out, match: {direction: out}, functions: [{use: filter}]}
`, hostName(0))

// said is what a program writes, while it runs.
type said struct {
	mutex sync.Mutex
	text  bytes.Buffer
}

func (s *said) Write(p []byte) (int, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.text.Write(p)
}

func (s *said) String() string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.text.String()
}

// capturing is a realmgate capture that was started.
type capturing struct {
	*netns.Command
	t              *testing.T
	stdout, stderr said
}

// capture starts one, and waits until it captures.
func (d *daemon) capture(flags ...string) *capturing {
	d.t.Helper()
	c := &capturing{Command: d.gateway.Command(context.Background(), program, append([]string{"capture", "--instance", d.instance}, flags...)...), t: d.t}
	c.Stdout, c.Stderr = &c.stdout, &c.stderr
	if err := c.Start(); err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() { _ = c.Process.Kill() })
	eventually(d.t, 10*time.Second, "packets are captured", func() bool {
		return strings.Contains(c.stderr.String(), "capturing ") || strings.HasPrefix(c.stdout.String(), "TIME")
	})
	return c
}

// ends wants the capture to end with the code, and with those words.
func (c *capturing) ends(code int, words string) {
	c.t.Helper()
	_ = c.Wait() // the code says it
	if got := c.ProcessState.ExitCode(); got != code || !strings.HasSuffix(c.stderr.String(), words) {
		c.t.Errorf("the capture ended with %d, want %d: %s", got, code, &c.stderr)
	}
}

// read is what tcpdump makes of a file, a line for each packet.
func read(t *testing.T, file string, flags ...string) []string {
	t.Helper()
	lines, err := soFar(file, flags...)
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

// soFar is read for a file that is still written: the error may be about half a packet.
func soFar(file string, flags ...string) ([]string, error) {
	command := exec.CommandContext(context.Background(), "tcpdump", append([]string{"-n", "-r", file}, flags...)...)
	var stderr strings.Builder
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil {
		err = fmt.Errorf("tcpdump: %w: %s", err, &stderr)
	}
	return strings.FieldsFunc(string(out), func(r rune) bool { return r == '\n' }), err
}

// wrote waits until so many packets that the filter lets through are in a file.
func wrote(t *testing.T, packets int, file string, filter ...string) {
	t.Helper()
	eventually(t, 20*time.Second, fmt.Sprint(packets, " packets are in the file"), func() bool {
		lines, _ := soFar(file, filter...)
		return len(lines) >= packets
	})
}

// Who captures gets the packets of a chain in both directions as they came in, other
// chains' none; several may, and each what it asked for; after a reload they get what it brought.
func TestCapture(t *testing.T) {
	t.Parallel()
	r := newRealm(t, netns.Options{Hosts: 1, Clients: 1})
	r.echoServers()
	r.webServers()
	d := r.start(r.configuration() + mirrored)
	host, client := r.Hosts()[0].IP, r.Clients[0].IP
	file, short := filepath.Join(r.directory, "echo.pcapng"), filepath.Join(r.directory, "web.pcapng")
	whole, lines := d.capture("--chain", "echo", "-w", file), d.capture("--chain", "web", "--function", "copy", "--count", "4")
	web := d.capture("--chain", "web", "-w", short, "--snap", "60")

	address := r.mustLend(r.Clients[0], "echo."+hostName(0))
	if _, err := echo(r.Clients[0], netip.AddrPort{}, echoAddress(address)); err != nil {
		t.Fatal(err)
	}
	d.write(strings.Replace(r.configuration()+mirrored, "{use: mirror}", "{use: mirror}, {use: mirror, name: second}", 1))
	if out, err := d.tell("reload"); err != nil {
		t.Fatal(out)
	}
	started := time.Now()
	again := r.mustLend(r.Clients[0], "echo."+hostName(0))
	if _, err := echo(r.Clients[0], netip.AddrPort{}, echoAddress(again)); err != nil {
		t.Fatal(err)
	}
	page := r.mustLend(r.Clients[0], "www."+hostName(0))
	if _, err := curl(r.Clients[0], page, 80); err != nil {
		t.Fatal(err)
	}

	lines.ends(0, "4 packets captured, 0 lost\n")
	if out := lines.stdout.String(); strings.Count(out, "\n") != 5 || !strings.Contains(out, fmt.Sprintf("tcp %s:8080 > %s:", host, client)) {
		t.Errorf("a line for each packet:\n%s", out)
	}
	wrote(t, 6, file)
	_ = whole.Process.Signal(syscall.SIGINT)
	whole.ends(0, "6 packets captured, 0 lost\n")
	packets := read(t, file)
	for i, want := range []string{
		fmt.Sprintf(" > %s.7: UDP, length 1", address), fmt.Sprintf("IP %s.7 > %s.", host, client),
		fmt.Sprintf(" > %s.7: UDP, length 1", again), fmt.Sprintf(" > %s.7: UDP, length 1", again),
		fmt.Sprintf("IP %s.7 > %s.", host, client), fmt.Sprintf("IP %s.7 > %s.", host, client),
	} {
		if len(packets) != 6 || !strings.Contains(packets[i], want) {
			t.Errorf("packet %d: want %q of\n%s", i+1, want, strings.Join(packets, "\n"))
		}
	}
	seconds := strings.Fields(read(t, file, "-tt")[5])[0]
	if at, err := strconv.ParseFloat(seconds, 64); err != nil || at < float64(started.Unix()) || at > float64(time.Now().Unix()+1) {
		t.Errorf("the last packet is of %s, %v", seconds, err)
	}
	wrote(t, 2, short, "tcp[tcpflags] & tcp-fin != 0")
	_ = web.Process.Signal(syscall.SIGTERM)
	web.ends(0, " packets captured, 0 lost\n")
	if n := d.functions("web")[1].Seen; int(n) != len(read(t, short)) {
		t.Errorf("the function was asked about %d packets, and %d are captured", n, len(read(t, short)))
	}
	// 26 octets of TCP's header, but the true length.
	for _, frame := range shark(t, short, "tcp", "frame.cap_len", "frame.interface_name", "frame.comment") {
		side, way := r.Gateway.Public[0], fmt.Sprintf("tcp %s:", client)
		if strings.Contains(frame, fmt.Sprintf(", tcp %s:8080 > ", host)) {
			side, way = r.Gateway.Private[0], fmt.Sprintf("tcp %s:8080 > %s:", host, client)
		}
		if want := "60|" + side + "|copy; of a flow that goes in, " + way; !strings.HasPrefix(frame, want) {
			t.Errorf("it has %s, want %s", frame, want)
		}
	}
}

// What cannot be captured is told, and nothing is written. The daemon's end is the
// capture's, and nothing is copied after it.
func TestCaptureIsRefused(t *testing.T) {
	t.Parallel()
	r := newRealm(t, netns.Options{Hosts: 1, Clients: 1})
	r.echoServers()
	d := r.start(r.configuration() + mirrored)
	file := filepath.Join(r.directory, "none.pcapng")
	for flags, want := range map[string]string{
		"--chain wbe":                `there is no chain "wbe": see realmgate chain list`,
		"--chain protection":         "the protection copies no packets: add {use: mirror} to a chain",
		"--chain out":                "no function of chain out copies packets: add {use: mirror} to it, and reload",
		"--chain web --function all": `chain web has no function "all" that copies packets: it has copy`,
	} {
		out, err := d.tell(append([]string{"capture", "-w", file}, strings.Fields(flags)...)...)
		if _, missing := os.Stat(file); err == nil || out != "realmgate: "+want+"\n" || missing == nil {
			t.Errorf("%s: %v, %s", flags, err, out)
		}
	}
	stopped := d.capture("--chain", "echo", "-w", file)
	d.stop()
	stopped.ends(1, "0 packets captured, 0 lost\nrealmgate: the gateway is stopping\n")
	d.run()
	killed := d.capture("--chain", "echo", "-w", file)
	talk := r.conversation(r.Clients[0], 0)
	d.kill()
	killed.ends(1, "stopped before its answer was complete\n")
	if _, err := echoOn(talk); err != nil {
		t.Error("with nobody to read the copies, a packet was lost: ", err)
	}
	d.run()
	again := d.capture("--chain", "echo", "-w", file)
	if _, err := echoOn(talk); err != nil {
		t.Error(err)
	}
	wrote(t, 2, file)
	_ = again.Process.Signal(syscall.SIGINT)
	again.ends(0, "2 packets captured, 0 lost\n")
}

// The guide's mirror shows what the filter after it drops.
func TestGuideMirror(t *testing.T) {
	t.Parallel()
	r := newRealm(t, netns.Options{Hosts: 1, Clients: 2})
	r.webServers()
	denied := r.Clients[1].IP
	d := r.start(r.configuration() + r.guide("mirror.md", "hosta.foo.example.", hostName(0), "203.0.113.0/24", denied.String()))
	file := filepath.Join(r.directory, "web.pcapng")
	c := d.capture("--chain", "web", "-w", file)
	if page, err := curl(r.Clients[1], r.mustLend(r.Clients[1], "www."+hostName(0)), 80, "--max-time", "1"); err == nil {
		t.Errorf("who is denied got %q", page)
	}
	if _, err := curl(r.Clients[0], r.mustLend(r.Clients[0], "www."+hostName(0)), 80); err != nil {
		t.Error(err)
	}
	wrote(t, 3, file, "src", r.Hosts()[0].IP.String())
	_ = c.Process.Signal(syscall.SIGINT)
	c.ends(0, " packets captured, 0 lost\n")
	if packets := read(t, file, "host", denied.String()); len(packets) == 0 || !strings.Contains(packets[0], "Flags [S]") {
		t.Errorf("of who is denied: %q", packets)
	}
}

// A capture that takes nothing for a while holds nobody up: what it misses is counted.
func TestCaptureThatStandsStill(t *testing.T) {
	t.Parallel()
	const octets = 60_000_000 // more than can wait
	r := newRealm(t, netns.Options{Hosts: 1, Clients: 2})
	r.echoServers()
	r.webServers()
	d := r.start(r.configuration() + "chains: [{name: all, functions: [{use: mirror}]}]\n")
	file := filepath.Join(r.directory, "all.pcapng")
	c := d.capture("--chain", "all", "-w", file)
	_ = c.Process.Signal(syscall.SIGSTOP)
	address := r.mustLend(r.Clients[0], "www."+hostName(0))
	if _, err := curl(r.Clients[0], address, 80, "--url-query", fmt.Sprint("octets=", octets), "-o", "/dev/null"); err != nil {
		t.Error(err)
	}
	_ = c.Process.Signal(syscall.SIGCONT)
	talk := r.conversation(r.Clients[1], 0)
	eventually(t, 20*time.Second, "what comes now is in the file", func() bool {
		if _, err := echoOn(talk); err != nil {
			t.Fatal(err)
		}
		lines, _ := soFar(file, "udp")
		return len(lines) > 0
	})
	_ = c.Process.Signal(syscall.SIGINT)
	c.ends(0, " lost\n")
	var captured, lost uint64
	text := strings.ReplaceAll(c.stderr.String(), ",", "")
	if _, err := fmt.Sscanf(text[strings.Index(text, "\n")+1:], "%d packets captured %d lost", &captured, &lost); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	const late = 100 // that may have come since
	if seen := d.functions("all")[0].Seen; lost == 0 || captured+lost > seen || captured+lost+late < seen {
		t.Errorf("of %d packets %d were captured and %d lost", seen, captured, lost)
	}
}
