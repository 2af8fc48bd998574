package e2e

import (
	"net"
	"strings"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/lab/netns"
)

// Each host has its own connections, by the kernel's TCP with default offloads: those that are open go on, one more is
// refused, one that both ends have closed makes room. The limit holds while no daemon lives, and for the next one.
func TestConnLimitOfEachHost(t *testing.T) {
	t.Parallel()
	const most = 3
	r := newRealm(t, netns.Options{Hosts: 2, Clients: 1, Servers: 1})
	echoLines(t, r.Servers[0], 7)
	server := net.JoinHostPort(r.Servers[0].IP.String(), "7")
	d := r.start(r.configuration() + "chains: [{name: out, match: {direction: out, protocol: tcp}, functions: [{use: connlimit, connections: 3}]}]\n")
	dial := func(host netns.Node) (net.Conn, error) {
		connection, err := host.DialContext(t.Context(), "tcp4", server)
		if err == nil {
			t.Cleanup(func() { _ = connection.Close() })
			err = line(connection, "here")
		}
		return connection, err
	}
	open := map[netns.Node][]net.Conn{}
	for _, host := range r.Hosts() {
		for range most {
			connection, err := dial(host)
			if err != nil {
				t.Fatalf("%s has %d connections, and gets no other: %v", host.IP, len(open[host]), err)
			}
			open[host] = append(open[host], connection)
		}
	}
	one, other := r.Hosts()[0], r.Hosts()[1]
	full := func(when string) {
		t.Helper()
		for _, host := range r.Hosts() {
			for _, connection := range open[host] {
				if err := line(connection, strings.Repeat("aggregates ", 10_000)); err != nil {
					t.Errorf("%s: an open connection of %s: %v", when, host.IP, err)
				}
			}
			if _, err := dial(host); err == nil {
				t.Errorf("%s: %s has one more than %d connections", when, host.IP, most)
			}
		}
	}
	full("at first")
	if d.counted("drop_denied") == 0 {
		t.Error("no drop_denied was counted")
	}
	d.kill()
	full("without a daemon")
	d.run()
	full("with the next daemon")
	if err := open[one][0].Close(); err != nil {
		t.Fatal(err)
	}
	eventually(t, 5*time.Second, "a connection that is closed makes room, before its 10 s", func() bool {
		connection, err := dial(one)
		if err == nil {
			open[one][0] = connection
		}
		return err == nil
	})
	if _, err := dial(other); err == nil {
		t.Errorf("what %s has closed makes room for %s", one.IP, other.IP)
	}
}
