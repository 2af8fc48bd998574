package e2e

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/lab/netns"
	"github.com/realmgate/realmgate/test/certificate"
)

const (
	ipfixByTLS  = "127.0.0.1:4740" // RFC 7011 §10.3
	syslogByTLS = "127.0.0.1:6514" // RFC 5425 §4.1
)

// ipfixCollector takes what connections bring, by TCP or TLS, as RFC 7011 §10.4 has collectors do, and writes it down as RFC 5655 has
// files of IPFIX, for tshark to say what it is.
type ipfixCollector struct {
	listener net.Listener
	to       *os.File
	mutex    sync.Mutex
	open     []net.Conn
	serves   sync.WaitGroup
	messages int
	fault    error // the first: what came is no message
}

// collectsAt listens on the gateway's machine, and writes a file; config nil: without TLS.
func (r *realm) collectsAt(at string, config *tls.Config, file string) *ipfixCollector {
	r.t.Helper()
	to, err := os.Create(file)
	if err != nil {
		r.t.Fatal(err)
	}
	listener, err := r.Gateway.Listen("tcp4", at)
	if err != nil {
		r.t.Fatal(err)
	}
	if config != nil {
		listener = tls.NewListener(listener, config)
	}
	c := &ipfixCollector{listener: listener, to: to}
	c.serves.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			c.mutex.Lock()
			c.open = append(c.open, conn)
			c.mutex.Unlock()
			c.serves.Go(func() { c.serve(conn) })
		}
	})
	r.t.Cleanup(c.stop)
	return c
}

// serve reads messages until there are no more.
func (c *ipfixCollector) serve(conn net.Conn) {
	next, message := uint32(0), make([]byte, 1<<16)
	for {
		if _, err := io.ReadFull(conn, message[:16]); err != nil {
			return
		}
		length := binary.BigEndian.Uint16(message[2:])
		if _, err := io.ReadFull(conn, message[16:max(16, length)]); err != nil {
			return
		}
		sequence := binary.BigEndian.Uint32(message[8:])
		c.mutex.Lock()
		c.messages++
		if c.fault == nil && (binary.BigEndian.Uint16(message) != 10 || next == 0 && sequence != 0 || sequence < next) {
			c.fault = fmt.Errorf("message %x behind sequence %d", message[:16], next)
		}
		if _, err := c.to.Write(message[:length]); err != nil {
			c.fault = err
		}
		c.mutex.Unlock()
		next = max(sequence, 1)
	}
}

// stop ends it, and all connections to it.
func (c *ipfixCollector) stop() {
	_ = c.listener.Close()
	c.mutex.Lock()
	for _, conn := range c.open {
		_ = conn.Close()
	}
	c.mutex.Unlock()
	c.serves.Wait()
	_ = c.to.Close()
}

// Collectors by connections, of others: rsyslog by TLS, and what tshark reads of IPFIX by TCP and TLS. They go away, and come
// again: nothing of what began while they were away is missing or counted as lost. Of a collector whose certificate is not signed
// as is wanted, status says so, and what waits for it goes when it is.
func TestLogByConnections(t *testing.T) {
	t.Parallel()
	r := newRealm(t, netns.Options{Hosts: 1, Servers: 1})
	host, to := r.Hosts()[0], netip.AddrPortFrom(r.Servers[0].IP, 7777)
	folder := t.TempDir()
	file := func(name string) string { return filepath.Join(folder, name) }
	authority, stranger := certificate.NewAuthority(t), certificate.NewAuthority(t)
	authority.Write(t, file("ca.pem"), "")
	stranger.Write(t, file("other.pem"), "")
	server := authority.Issue(t, x509.Certificate{IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}})
	server.Write(t, file("server.pem"), file("server.key"))
	config := &tls.Config{Certificates: []tls.Certificate{*server.TLS()}, MinVersion: tls.VersionTLS12}
	var received string
	collect := func(turn string) (stop func()) {
		var stopSyslog func()
		received, stopSyslog = r.rsyslogAt(syslogByTLS, folder, fmt.Sprintf(" defaultNetstreamDriver=\"gtls\" defaultNetstreamDriverCAFile=%q defaultNetstreamDriverCertFile=%q defaultNetstreamDriverKeyFile=%q",
			file("ca.pem"), file("server.pem"), file("server.key")), ` streamDriver.name="gtls" streamDriver.mode="1" streamDriver.authMode="anon"`)
		all := []*ipfixCollector{r.collectsAt(ipfixAt, nil, file("tcp"+turn)), r.collectsAt(ipfixByTLS, config, file("tls"+turn))}
		eventually(t, 20*time.Second, "rsyslog listens", func() bool {
			out, _ := r.Gateway.Command(context.Background(), "ss", "-Hlnt").Output()
			return strings.Contains(string(out), syslogByTLS)
		})
		return func() {
			stopSyslog()
			for _, c := range all {
				c.stop()
				if c.fault != nil || c.messages == 0 {
					t.Errorf("after %d messages: %v", c.messages, c.fault)
				}
			}
		}
	}
	stop := collect("1")
	d := r.start(with(r.configuration(), "limits: {host_sessions: 0, host_rate: 0}", fmt.Sprintf(
		`log: {sinks: [{name: plain, ipfix: "tcp://%s"}, {name: secret, ipfix: "tls://%s", ca: %q}, {name: siem, syslog: "tls://%s", ca: %q}, {name: wrong, syslog: "tls://%s", ca: %q}]}`,
		ipfixAt, ipfixByTLS, file("ca.pem"), syslogByTLS, file("ca.pem"), syslogByTLS, file("other.pem"))))
	const first, away, last = 300, 200, 100
	const all = first + away + last
	sinks := []string{"plain", "secret", "siem"}
	have := func(begun int) func() bool { // what only the collectors can say, too
		return func() bool {
			for _, sink := range sinks {
				if !d.delivered(sink, begun) {
					return false
				}
			}
			return syslogKinds(t, received)["mapping_begun"] == begun
		}
	}
	r.sendsFrom(host, 20_000, first, to)
	eventually(t, 60*time.Second, "the collectors have the first", have(first))
	if says := d.warning("the log waits for sink wrong"); !strings.Contains(says, "certificate signed by unknown authority") {
		t.Errorf("of a certificate that is not signed as is wanted status says %q", says)
	}
	stop()
	for _, sink := range sinks[:2] { // which connect even when they have nothing to say
		eventually(t, 60*time.Second, sink+" is known to be away", func() bool { return d.number(`realmgate_log_up{sink="`+sink+`"}`) == 0 })
	}
	r.sendsFrom(host, 21_000, away, to)
	stop = collect("2")
	r.sendsFrom(host, 22_000, last, to)
	eventually(t, 120*time.Second, "they have all", have(all))
	if d.number(`realmgate_log_delivered_total{sink="wrong"}`) != 0 || d.number(`realmgate_log_queued{sink="wrong"}`) < all {
		t.Error("what nobody was to get does not wait")
	}
	authority.Write(t, file("other.pem"), "")
	eventually(t, 120*time.Second, "what waited is there", func() bool { return d.delivered("wrong", all) && syslogKinds(t, received)["mapping_begun"] == 2*all })
	for _, sink := range append(sinks, "wrong") {
		if lost := d.number(`realmgate_log_lost_total{sink="` + sink + `"}`); lost != 0 {
			t.Errorf("%s has lost %d", sink, lost)
		}
	}
	d.stop() // it tells what ends with it, and closes the connections
	stop()
	for _, by := range []string{"tcp", "tls"} {
		r.tsharkReads(file(by+"1"), map[uint8]int{8: first, 9: 0})
		r.tsharkReads(file(by+"2"), map[uint8]int{8: away + last, 9: all})
	}
}
