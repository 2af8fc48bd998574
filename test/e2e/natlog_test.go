package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/leodido/go-syslog/v4/rfc5424"
	"github.com/miekg/dns"

	"github.com/realmgate/realmgate/internal/client"
	"github.com/realmgate/realmgate/internal/lab/netns"
)

const (
	ipfixAt  = "127.0.0.1:4739"
	syslogAt = "127.0.0.1:5514"
)

// beside runs a program on the gateway's machine until the test ends, or it is stopped.
func (r *realm) beside(name string, arguments ...string) (stop func()) {
	r.t.Helper()
	command := r.Gateway.Command(context.Background(), name, arguments...)
	var log bytes.Buffer
	command.Stdout, command.Stderr = &log, &log
	if err := command.Start(); err != nil {
		r.t.Fatal(err)
	}
	ended := false
	stop = func() {
		if !ended {
			ended = true
			_ = command.Process.Signal(syscall.SIGTERM)
			_ = command.Wait()
		}
	}
	r.t.Cleanup(func() {
		stop()
		if r.t.Failed() {
			r.t.Logf("the log of %s:\n%s", name, log.String())
		}
	})
	return stop
}

// sendsFrom has a host send a datagram to an endpoint from each of many ports.
func (r *realm) sendsFrom(host netns.Node, first, count int, to netip.AddrPort) {
	r.t.Helper()
	err := host.Do(func() error {
		for port := first; port < first+count; port++ {
			conn, err := net.DialUDP("udp4", &net.UDPAddr{IP: host.IP.AsSlice(), Port: port}, net.UDPAddrFromAddrPort(to))
			if err != nil {
				return err
			}
			_, err = conn.Write([]byte("x"))
			_ = conn.Close()
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		r.t.Fatal(err)
	}
}

// delivered reports whether a sink of the log has taken so many records, and none waits.
func (d *daemon) delivered(sink string, least int) bool {
	return d.number(`realmgate_log_delivered_total{sink="`+sink+`"}`) >= least && d.number(`realmgate_log_queued{sink="`+sink+`"}`) == 0
}

// number is a value of a page of metrics. A busy machine may take several turns to make one in time.
func (d *daemon) number(series string) (n int) {
	d.t.Helper()
	eventually(d.t, 60*time.Second, "the page has "+series, func() bool {
		page, _ := d.gateway.Command(context.Background(), "curl", "-s", "--max-time", "5", "--unix-socket", client.SocketPath(d.instance), "http://gateway/metrics").Output()
		for line := range strings.Lines(string(page)) {
			var value float64
			if rest, found := strings.CutPrefix(line, series+" "); found {
				_, err := fmt.Sscan(rest, &value)
				n = int(value)
				return err == nil
			}
		}
		return false
	})
	return n
}

// rsyslog receives messages over TCP, and writes them down as they came.
func (r *realm) rsyslog() (file string) {
	r.t.Helper()
	file, _ = r.rsyslogAt(syslogAt, r.t.TempDir(), "", "")
	return file
}

// rsyslogAt is rsyslog at an endpoint, with files in a folder, and what its configuration says of all and of connections.
func (r *realm) rsyslogAt(at, folder, global, connections string) (file string, stop func()) {
	r.t.Helper()
	file = filepath.Join(folder, "received")
	config := filepath.Join(folder, "rsyslog.conf")
	text := fmt.Sprintf("global(workDirectory=%q%s)\nmodule(load=\"imtcp\"%s)\ninput(type=\"imtcp\" address=\"127.0.0.1\" port=%q)\n"+
		"template(name=\"whole\" type=\"string\" string=\"%%rawmsg%%\\n\")\naction(type=\"omfile\" file=%q template=\"whole\")\n",
		folder, global, connections, strings.TrimPrefix(at, "127.0.0.1:"), file)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		r.t.Fatal(err)
	}
	return file, r.beside("rsyslogd", "-n", "-f", config, "-i", filepath.Join(folder, "pid"))
}

// flowRecord is what nfdump prints of a record, as far as it is looked at.
type flowRecord struct {
	Event       string `json:"nat_event_id"`
	Source      string `json:"src4_addr"`
	Port        int    `json:"src_port"`
	Outside     string `json:"src4_xlt_ip"`
	OutsidePort int    `json:"src_xlt_port,string"`
	To          string `json:"dst4_addr"`
	ToPort      int    `json:"dst_port"`
}

func nfdump(t *testing.T, folder string) (all []flowRecord) {
	t.Helper()
	out, err := exec.Command("nfdump", "-R", folder, "-o", "json", "-q").CombinedOutput()
	if err != nil {
		t.Fatalf("nfdump: %v\n%.500s", err, out)
	}
	out = append(append([]byte("["), bytes.TrimRight(bytes.TrimSpace(out), ",")...), ']') // which -q leaves out
	if err := json.Unmarshal(out, &all); err != nil {
		t.Fatalf("nfdump printed no JSON: %v\n%.2000s", err, out)
	}
	return all
}

// Collectors of others take what the gateway tells of 10,000 sessions: nfcapd each of them, rsyslog messages that a parser reads,
// and tshark finds nothing malformed and names the events. trace finds who had a port.
func TestLogReachesCollectors(t *testing.T) {
	t.Parallel()
	const sessions, first = 10_000, 20_000
	r := newRealm(t, netns.Options{Hosts: 1, Servers: 1})
	host, to := r.Hosts()[0], netip.AddrPortFrom(r.Servers[0].IP, 7777)
	disk, flows, wire := filepath.Join(r.directory, "nat"), t.TempDir(), filepath.Join(t.TempDir(), "wire.pcap")
	if err := os.Mkdir(disk, 0o700); err != nil {
		t.Fatal(err)
	}
	received := r.rsyslog()
	stopCapture := r.beside("tcpdump", "-i", "lo", "-U", "--immediate-mode", "-s", "4096", "-B", "16384", "-w", wire, "udp", "port", "4739")
	stopCollector := r.beside("nfcapd", "-p", "4739", "-b", "127.0.0.1", "-B", "4000000", "-l", flows)
	eventually(t, 20*time.Second, "the collectors listen", func() bool {
		out, _ := r.Gateway.Command(context.Background(), "ss", "-Hlnut").Output()
		_, err := os.Stat(wire)
		return strings.Contains(string(out), ipfixAt) && strings.Contains(string(out), syslogAt) && err == nil
	})
	d := r.start(with(r.configuration(), "limits: {host_sessions: 0, host_rate: 0}", fmt.Sprintf(`log: {destinations: true, sinks: [{name: disk, directory: %q}, {name: flows, ipfix: "udp://%s"}, {name: siem, syslog: "tcp://%s"}]}`,
		disk, ipfixAt, syslogAt)))
	before := d.number("realmgate_sessions_opened_total")
	began := time.Now()
	r.sendsFrom(host, first, sessions, to)
	eventually(t, 60*time.Second, "the sinks have taken all", func() bool { return d.delivered("flows", 2*sessions) && d.delivered("siem", 2*sessions) })
	middle := time.Now()
	if out, err := d.tell("sessions", "end", "--all"); err != nil {
		t.Fatal(out)
	}
	eventually(t, 60*time.Second, "their ends, too", func() bool { return d.delivered("flows", 3*sessions) })
	opened := d.number("realmgate_sessions_opened_total") - before
	for _, sink := range []string{"disk", "flows", "siem"} {
		if lost := d.number(`realmgate_log_lost_total{sink="` + sink + `"}`); lost != 0 {
			t.Errorf("%s has lost %d", sink, lost)
		}
	}
	stopCollector()
	stopCapture()

	counts, at := map[string]int{}, map[int]flowRecord{}
	for _, f := range nfdump(t, flows) {
		counts[f.Event]++
		if f.To == to.Addr().String() {
			at[f.Port] = f
		}
	}
	t.Logf("%d sessions were opened; nfcapd has of each event %v", opened, counts)
	if counts["8"] != opened || counts["4"] != opened || counts["5"] != opened {
		t.Error("nfcapd has other numbers")
	}
	for range 100 {
		port := first + rand.IntN(sessions)
		if f := at[port]; f.Source != host.IP.String() || f.Outside != r.Gateway.Outbound.String() || f.OutsidePort == 0 || f.ToPort != int(to.Port()) {
			t.Errorf("port %d: %+v", port, f)
		}
	}
	r.tsharkReads(wire, map[uint8]int{8: opened, 4: opened, 5: opened})
	heard := syslogKinds(t, received)
	if heard["mapping_begun"] != opened || heard["session_begun"] != opened {
		t.Errorf("rsyslog received %v", heard)
	}

	for range 20 {
		port := first + rand.IntN(sessions)
		for moment, want := range map[time.Time]string{middle: host.IP.String(), began.Add(-time.Minute): ""} {
			traced := list[client.Traced](d, "trace", "--address", r.Gateway.Outbound.String(), "--port", strconv.Itoa(at[port].OutsidePort), "--protocol", "udp", "--at", moment.Format(time.RFC3339Nano))
			got := ""
			if len(traced.Users) > 0 {
				got = traced.Users[0].Private.Addr().String()
			}
			if got != want || traced.Lost > 0 {
				t.Errorf("port %d at %s: %+v, want %q", at[port].OutsidePort, moment, traced, want)
			}
		}
	}
}

// tsharkReads wants no malformed message, and so many of each natEvent.
func (r *realm) tsharkReads(wire string, want map[uint8]int) {
	r.t.Helper()
	read := func(arguments ...string) string {
		out, err := exec.Command("tshark", append([]string{"-r", wire, "-d", "udp.port==4739,cflow"}, arguments...)...).Output() //nolint:gosec // of the test
		if err != nil {
			r.t.Fatalf("tshark %v: %v", arguments, err)
		}
		return string(out)
	}
	if bad := read("-Y", "_ws.malformed or _ws.expert.severity >= 6291456"); bad != "" {
		r.t.Errorf("tshark finds wrong:\n%.1000s", bad)
	}
	counts := map[uint8]int{}
	for word := range strings.FieldsFuncSeq(read("-Y", "cflow.nat_event", "-T", "fields", "-e", "cflow.nat_event"), func(c rune) bool { return c == ',' || c == '\n' }) {
		n, err := strconv.ParseUint(word, 0, 8)
		if err != nil {
			r.t.Fatal(err)
		}
		counts[uint8(n)]++
	}
	for event, n := range want {
		if counts[event] != n {
			r.t.Errorf("tshark counts %v, want of event %d %d", counts, event, n)
		}
	}
	named := read("-V", "-Y", "cflow.nat_event")
	for event, name := range map[uint8]string{4: "NAT44 session create", 5: "NAT44 session delete", 8: "NAT44 BIB create"} {
		if want[event] > 0 && !strings.Contains(named, name) {
			r.t.Errorf("tshark names no event %q", name)
		}
	}
}

// syslogKinds reads what rsyslog wrote.
func syslogKinds(t *testing.T, path string) map[string]int {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	kinds := map[string]int{}
	for lines := bufio.NewScanner(file); lines.Scan(); {
		m, err := rfc5424.NewParser().Parse(lines.Bytes())
		if err != nil {
			t.Fatalf("%v: %s", err, lines.Text())
		}
		kinds[*m.(*rfc5424.SyslogMessage).MsgID]++
	}
	return kinds
}

// With whom a host spoke is in no log, unless that is asked for: not in files, not on the way to a collector.
func TestLogHasNoDestinations(t *testing.T) {
	t.Parallel()
	r := newRealm(t, netns.Options{Hosts: 1, Servers: 1, Clients: 1, Resolver: true})
	r.webServers()
	r.resolver()
	host, to := r.Hosts()[0], netip.AddrPortFrom(r.Servers[0].IP, 54321)
	disk, wire := filepath.Join(r.directory, "nat"), filepath.Join(t.TempDir(), "wire.pcap")
	if err := os.Mkdir(disk, 0o700); err != nil {
		t.Fatal(err)
	}
	stopCapture := r.beside("tcpdump", "-i", "lo", "-U", "--immediate-mode", "-s", "4096", "-B", "16384", "-w", wire, "udp", "port", "4739")
	received := r.rsyslog()
	r.beside("nfcapd", "-p", "4739", "-b", "127.0.0.1", "-l", t.TempDir())
	d := r.start(with(r.configuration(), fmt.Sprintf(`log: {sinks: [{name: disk, directory: %q}, {name: flows, ipfix: "udp://%s"}, {name: siem, syslog: "tcp://%s"}]}`,
		disk, ipfixAt, syslogAt)))
	r.sendsFrom(host, 20_000, 100, to)
	answer, err := ask(r.Clients[0], "udp", r.Resolver.IP, "www."+hostName(0), dns.TypeA)
	if err != nil {
		t.Fatal(err)
	}
	lent := netip.MustParseAddr(first(answer))
	if _, err := visit(r.Clients[0], lent, 80); err != nil {
		t.Fatal(err)
	}
	eventually(t, 60*time.Second, "the sinks have taken all", func() bool { return d.delivered("flows", 100) && d.delivered("siem", 100) && d.delivered("disk", 100) })
	d.stop()
	stopCapture()
	written := logged(t, disk)
	raw, err := os.ReadFile(wire)
	if err != nil {
		t.Fatal(err)
	}
	heard, err := os.ReadFile(received)
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"mapping_begun", "address_stands", "address_offered", "address_claimed", "address_returned", "log_ended"} {
		if !strings.Contains(written, `"kind":"`+kind+`"`) {
			t.Errorf("the files say nothing of %s", kind)
		}
	}
	if n := strings.Count(written, `"kind":"mapping_begun"`); n < 100 || !bytes.Contains(heard, []byte("mapping_begun")) || !bytes.Contains(raw, host.IP.AsSlice()) {
		t.Fatalf("%d mappings are in files of %d octets", n, len(written))
	}
	for _, remote := range []netip.Addr{to.Addr(), r.Clients[0].IP} {
		if strings.Contains(written, remote.String()) || bytes.Contains(heard, []byte(remote.String())) || bytes.Contains(raw, remote.AsSlice()) {
			t.Errorf("%s is in a log", remote)
		}
	}
	if strings.Contains(written, "54321") || bytes.Contains(heard, []byte("54321")) || bytes.Contains(raw, binary.BigEndian.AppendUint16(nil, 54321)) {
		t.Error("the port is in a log")
	}
}

// logged is all that the compressed files of a log have.
func logged(t *testing.T, folder string) (text string) {
	t.Helper()
	unpack, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer unpack.Close()
	files, err := filepath.Glob(folder + "/*.zst")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		packed, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		lines, err := unpack.DecodeAll(packed, nil)
		if err != nil {
			t.Fatal(err)
		}
		text += string(lines)
	}
	return text
}
