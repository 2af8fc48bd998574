package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/client"
	"github.com/realmgate/realmgate/internal/lab/netns"
)

// A collector is killed, and comes again: what it has, before and after, and what is counted as lost are all there was. Its
// mappings begin while it is away, too.
func TestLogCountsWhatACollectorMissed(t *testing.T) {
	t.Parallel()
	r := newRealm(t, netns.Options{Hosts: 1, Servers: 1})
	host, to := r.Hosts()[0], netip.AddrPortFrom(r.Servers[0].IP, 7777)
	collect := func() (folder string, stop func()) {
		folder = t.TempDir()
		stop = r.beside("nfcapd", "-p", "4739", "-b", "127.0.0.1", "-w", folder)
		eventually(t, 20*time.Second, "the collector listens", func() bool {
			out, _ := r.Gateway.Command(context.Background(), "ss", "-Hlnu").Output()
			return strings.Contains(string(out), ipfixAt)
		})
		return folder, stop
	}
	first, stop := collect()
	d := r.start(with(r.configuration(), "limits: {host_sessions: 0, host_rate: 0}", fmt.Sprintf(`log: {sinks: [{name: flows, ipfix: "udp://%s"}]}`, ipfixAt)))
	r.sendsFrom(host, 20_000, 300, to)
	eventually(t, 60*time.Second, "the collector has the first", func() bool { return d.delivered("flows", 300) })
	stop()
	r.sendsFrom(host, 21_000, 40, to)
	eventually(t, 60*time.Second, "it is known to be away", func() bool { return d.number(`realmgate_log_up{sink="flows"}`) == 0 })
	if d.warning("the log waits for sink flows") == "" {
		t.Error("status says nothing of it")
	}
	r.sendsFrom(host, 22_000, 300, to)
	second, stop := collect()
	r.sendsFrom(host, 23_000, 300, to)
	const all = 300 + 40 + 300 + 300
	lost := 0
	eventually(t, 120*time.Second, "the collector takes it again", func() bool {
		lost = d.number(`realmgate_log_lost_total{sink="flows"}`)
		return d.delivered("flows", all-lost)
	})
	stop()
	has := 0
	for _, folder := range []string{first, second} {
		for _, f := range nfdump(t, folder) {
			if f.Event == "8" {
				has++
			}
		}
	}
	t.Logf("of %d mappings the collector has %d, and %d are counted as lost", all, has, lost)
	if lost == 0 || lost > 40 || has+lost != all {
		t.Error("that is not all, or more is lost than was sent while nobody knew")
	}
}

// A daemon that is killed loses nothing: what begins while there is none is in the log of the next.
func TestLogOutlivesTheDaemon(t *testing.T) {
	t.Parallel()
	r := newRealm(t, netns.Options{Hosts: 1, Servers: 1})
	host, to := r.Hosts()[0], netip.AddrPortFrom(r.Servers[0].IP, 7777)
	disk := filepath.Join(r.directory, "nat")
	if err := os.Mkdir(disk, 0o700); err != nil {
		t.Fatal(err)
	}
	d := r.start(with(r.configuration(), fmt.Sprintf(`log: {sinks: [{name: disk, directory: %q}]}`, disk)))
	r.sendsFrom(host, 20_000, 50, to)
	eventually(t, 60*time.Second, "the file has the first", func() bool { return d.delivered("disk", 50) })
	d.kill()
	r.sendsFrom(host, 21_000, 50, to)
	dead := time.Now()
	d.run()
	r.sendsFrom(host, 22_000, 50, to)
	eventually(t, 60*time.Second, "the file has the others", func() bool { return d.delivered("disk", 100) })
	for _, port := range []int{20_010, 21_010} {
		traced := list[client.Traced](d, "trace", "--address", r.Gateway.Outbound.String(), "--port", strconv.Itoa(port), "--at", dead.Format(time.RFC3339Nano))
		if len(traced.Users) != 1 || traced.Users[0].Private != netip.AddrPortFrom(host.IP, uint16(port)) || traced.Lost > 0 || traced.Gap {
			t.Errorf("port %d while there was no daemon: %+v", port, traced)
		}
	}
	if n := d.number(`realmgate_log_lost_total{sink="disk"}`); n != 0 {
		t.Errorf("%d records are lost", n)
	}
	d.stop()
	if traced := strings.Count(logged(t, disk), `"kind":"mapping_begun"`); traced != 150 {
		t.Errorf("the files have the beginning of %d mappings, want 150", traced)
	}
	if ended := strings.Count(logged(t, disk), `"kind":"mapping_ended"`); ended != 150 {
		t.Errorf("the files have the end of %d mappings, want 150", ended)
	}
}

// What begins while one process hands over to the next is in the log, or counted as lost; and what still begins when a
// gateway stops for good has its end.
func TestLogAcrossHandover(t *testing.T) {
	t.Parallel()
	r := newRealm(t, netns.Options{Hosts: 1, Servers: 1})
	host, to := r.Hosts()[0], netip.AddrPortFrom(r.Servers[0].IP, 7777)
	disk := filepath.Join(r.directory, "nat")
	if err := os.Mkdir(disk, 0o700); err != nil {
		t.Fatal(err)
	}
	d := r.start(with(r.configuration(), "limits: {host_sessions: 0, host_rate: 0}", fmt.Sprintf(`log: {sinks: [{name: disk, directory: %q}]}`, disk)))
	const first, second, step, most = 2_000, 34_000, 10, 30_000
	sends := func(from int) (end func() int) {
		ends, over := make(chan struct{}), make(chan int)
		go func() {
			for sent := 0; sent < most; sent += step {
				select {
				case <-ends:
					over <- sent
					return
				default:
				}
				r.sendsFrom(host, from+sent, step, to)
			}
			<-ends
			over <- most
		}()
		return func() int { close(ends); return <-over }
	}
	end := sends(first)
	if out, err := d.tell("handover"); err != nil {
		t.Fatal(out)
	}
	sent := end()
	eventually(t, 60*time.Second, "the log has what was told", func() bool { return d.number(`realmgate_log_queued{sink="disk"}`) == 0 })
	const delivered = `realmgate_log_delivered_total{sink="disk"}`
	before := d.number(delivered)
	end = sends(second) // until there is no gateway
	eventually(t, 60*time.Second, "some of these begin", func() bool { return d.number(delivered) > before+100 })
	d.stop()
	end()
	text := logged(t, disk)
	begun, ended, lost := map[string]bool{}, map[string]bool{}, 0
	for line := range strings.Lines(text) {
		var r struct {
			Kind, Private string
			Count         int
		}
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		switch r.Kind {
		case "mapping_begun":
			begun[r.Private] = true
		case "mapping_ended":
			ended[r.Private] = true
		case "lost":
			lost += r.Count
		}
	}
	missing := 0
	for port := first; port < first+sent; port++ {
		if !begun[netip.AddrPortFrom(host.IP, uint16(port)).String()] {
			missing++
		}
	}
	t.Logf("of %d mappings across the handover %d are not in the log, %d are counted as lost; in all %d began, and %d ended", sent, missing, lost, len(begun), len(ended))
	if sent == 0 || missing > lost || lost == 0 && len(begun) != len(ended) {
		t.Error("the log does not say all")
	}
}

// watcher keeps what a command that goes on has written.
type watcher struct {
	mutex sync.Mutex
	text  bytes.Buffer
}

func (w *watcher) Write(b []byte) (int, error) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return w.text.Write(b)
}

func (w *watcher) has(words ...string) bool {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	for line := range strings.Lines(w.text.String()) {
		all := true
		for _, word := range words {
			all = all && strings.Contains(line, word)
		}
		if all {
			return true
		}
	}
	return false
}

// A flow is seen by who observes, by name, when it begins, changes, ends and is dropped; and by who listens to the stream.
func TestObserve(t *testing.T) {
	t.Parallel()
	r := newRealm(t, netns.Options{Hosts: 1, Servers: 1})
	host := r.Hosts()[0]
	echoServer(t, r.Servers[0], 7, "server")
	d := r.start(r.configuration())
	var seen, told watcher
	watches := func(to *watcher, name string, arguments ...string) {
		command := r.Gateway.Command(context.Background(), name, arguments...)
		command.Stdout, command.Stderr = to, to
		if err := command.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = command.Process.Kill()
			_ = command.Wait()
			if t.Failed() {
				t.Logf("%s:\n%.3000s", name, to.text.String())
			}
		})
	}
	watches(&seen, program, "observe", "--follow", "--instance", d.instance)
	watches(&told, "curl", "-sN", "--unix-socket", client.SocketPath(d.instance), "http://gateway/v1/stream?topics=sessions")
	eventually(t, 20*time.Second, "they watch", func() bool { return seen.has("VERDICT") && told.has(":") })
	name := strings.TrimSuffix(hostName(0), ".")
	port := uint16(4000)
	eventually(t, 30*time.Second, "a flow is seen to begin", func() bool { // the stream begins to listen by and by
		port++
		_, err := echo(host, netip.AddrPortFrom(host.IP, port), netip.AddrPortFrom(r.Servers[0].IP, 7))
		return err == nil && seen.has("forwarded", "new", "udp", fmt.Sprintf("%s:%d → %s:7", name, port, r.Servers[0].IP), "via "+r.Gateway.Outbound.String()) &&
			told.has(`"event":"new"`, `"from_name":"`+hostName(0)+`"`)
	})
	if out, err := d.tell("observe", "--to", r.Servers[0].IP.String()); err != nil || !strings.Contains(out, "open") || !strings.Contains(out, fmt.Sprintf("%s:%d", name, port)) {
		t.Errorf("what is open: %v\n%s", err, out)
	}
	if out, err := d.tell("sessions", "end", "--all"); err != nil {
		t.Fatal(out)
	}
	eventually(t, 30*time.Second, "it is seen to end", func() bool {
		return seen.has("destroy", fmt.Sprintf("%s:%d", name, port)) && told.has(`"event":"destroy"`)
	})
	eventually(t, 30*time.Second, "a drop is seen", func() bool {
		r.sendsFrom(r.Servers[0], 5000, 1, netip.AddrPortFrom(r.Gateway.Outbound, 9))
		return seen.has("dropped", r.Servers[0].IP.String()+":5000")
	})
}
