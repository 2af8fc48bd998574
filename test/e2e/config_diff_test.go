package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/realmgate/realmgate/internal/lab/netns"
)

// The difference to a file that closes a service names it and its sessions, and these are the ones that end.
func TestConfigDiffNamesWhatCloses(t *testing.T) {
	t.Parallel()
	r := newRealm(t, netns.Options{Hosts: 2, Clients: 1})
	r.echoServers()
	d := r.start(r.configuration())
	if out, err := d.tell("config", "diff"); err != nil || out != "" {
		t.Errorf("the file that was read differs: %v, %s", err, out)
	}
	closed, open := r.conversation(r.Clients[0], 0), r.conversation(r.Clients[0], 1)
	generation := d.status().Generation
	name := "echo." + hostName(0)
	d.write("# One less.\n" + without(r.configuration(), name))
	out, err := d.tell("config", "diff")
	want := fmt.Sprintf("service %s of host %s closes udp/7, 1 session ends\n- hosts[%[2]s].services: %[1]s\n", name, hostName(0))
	if err == nil || out != want {
		t.Errorf("%v\n got %s\nwant %s", err, out, want)
	}
	if who, err := echoOn(closed); err != nil || d.status().Generation != generation {
		t.Errorf("comparing changed something: %q, %v", who, err)
	}
	d.write(strings.Replace(with(without(r.configuration(), name), "capacity: 200000"), "hosts:", "timeouts: {udp: 200s}\nhosts:", 1))
	out, err = d.tell("config", "diff")
	for _, line := range []string{"~ capacity: 200000, was 100000\n", "~ timeouts.udp: 200s, was 300s\n", "\ncapacity needs a restart: a reload is refused\n", want[:strings.Index(want, "\n")]} {
		if err == nil || !strings.Contains(out, line) {
			t.Errorf("%v, no %q in:\n%s", err, line, out)
		}
	}
	d.write(without(r.configuration(), name))
	if out, err := d.tell("reload"); err != nil {
		t.Fatal(out)
	}
	if !d.refuses(closed, "drop_service_closed") {
		t.Error("the session goes on")
	}
	if who, err := echoOn(open); err != nil || who != hostName(1) {
		t.Errorf("another session reached %q: %v", who, err)
	}
	if out, err := d.tell("config", "show"); err != nil || out != without(r.configuration(), name) {
		t.Errorf("%v: in force is shown as\n%s", err, out)
	}
	if out, err := d.tell("config", "show", "--effective"); err != nil || !strings.Contains(out, "  rest: 730s\n") {
		t.Errorf("%v: effective is\n%s", err, out)
	}
}
