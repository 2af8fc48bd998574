package e2e

import (
	"fmt"
	"net/netip"
	"reflect"
	"strings"
	"testing"

	"github.com/realmgate/realmgate/internal/client"
	"github.com/realmgate/realmgate/internal/lab/netns"
)

// explains asks what would decide, and wants the last line to end so. It does so twice,
// and nothing has changed that can be listed.
func (d *daemon) explains(want string, arguments ...string) {
	d.t.Helper()
	state := func() []any {
		sessions := d.sessions("--address", "10.0.0.100")
		for i := range sessions {
			sessions[i].Age, sessions[i].Idle = 0, 0
		}
		return []any{list[[]client.Chain](d, "chain", "list"), sessions, d.status().Generation}
	}
	var before, after []any
	for range 5 { // what others send meanwhile changes it, too
		before = state()
		d.explained(want, arguments...)
		if after = state(); reflect.DeepEqual(before, after) {
			return
		}
	}
	d.t.Errorf("explain %v changed\n%+v\nto\n%+v", arguments, before, after)
}

// explained asks twice.
func (d *daemon) explained(want string, arguments ...string) {
	d.t.Helper()
	for range 2 {
		out, err := d.tell(append([]string{"explain"}, arguments...)...)
		if err != nil || !strings.HasSuffix(out, want+"\n") {
			d.t.Errorf("explain %v: %v, want it to end %q:\n%s", arguments, err, want, out)
		}
	}
}

// What the command says would happen is what happens, through bans, names, jumps and
// limits; and a limit is no nearer for it.
func TestExplain(t *testing.T) {
	t.Parallel()
	r := newRealm(t, netns.Options{Hosts: 1, Clients: 3, Servers: 1})
	r.echoServers()
	echoServer(t, r.Servers[0], 7, "server")
	host, friend, foe, slow := r.Hosts()[0].IP.String(), r.Clients[0], r.Clients[1], r.Clients[2]
	service := "echo." + hostName(0)
	d := r.start(r.configuration() + fmt.Sprintf(`chains:
  - name: echo
    match: {service: %s}
    functions:
      - {use: jump, name: careful, chain: limits, when: [%s]}
      - {use: filter, name: foes, deny: [%s]}
  - {name: limits, match: {from: 192.0.2.0/24}, functions: [{use: rate-limit, name: first, new: 1/m, burst: 1m, per: source}]}
  - {name: out, match: {direction: out}, functions: [{use: filter, name: quiet, deny: [{protocol: udp, port: 7}]}]}
`, service, slow.IP, foe.IP))
	reaches := func(from netns.Node, want bool) {
		t.Helper()
		if who, err := lentEcho(r, from, service); (err == nil) != want {
			t.Errorf("%s reached %q: %v", from.IP, who, err)
		}
	}
	d.explains("port 7 would pass", friend.IP.String(), "--to", service)
	reaches(friend, true)
	d.explains("port 7 would be dropped (drop_denied by echo/foes)", foe.IP.String(), "--to", service)
	reaches(foe, false)
	d.explains("port 7 would pass", slow.IP.String(), "--to", service)
	reaches(slow, true)
	d.explains("port 7 would be dropped (drop_denied by limits/first)", slow.IP.String(), "--to", service)
	d.explains("would reach 3 of 4 services", slow.IP.String())
	reaches(slow, false)
	server := r.Servers[0].IP.String()
	d.explains("port 7 would be dropped (drop_denied by out/quiet)", host, "--to", server, "--protocol", "udp", "--port", "7")
	if who, err := echo(r.Hosts()[0], netip.AddrPort{}, netip.AddrPortFrom(r.Servers[0].IP, 7)); err == nil {
		t.Errorf("what is denied reached %s", who)
	}
	// What commands change is what is asked.
	if out, err := d.tell("chain", "remove", "out", "quiet"); err != nil {
		t.Fatal(out)
	}
	d.explains("port 7 would pass", host, "--to", server, "--protocol", "udp", "--port", "7")
	if out, err := d.tell("ban", "add", friend.IP.String(), "--for", "1h"); err != nil {
		t.Fatal(out)
	}
	d.explains("would be dropped (drop_banned)", friend.IP.String(), "--to", service)
	d.explains("would be dropped (drop_banned)", friend.IP.String())
	reaches(friend, false)
	for want, arguments := range map[string]string{
		"there is no name nobody.foo.example.: see realmgate hosts": "192.0.2.1 --to nobody.foo.example",
		"does not open that: it opens udp/7":                        "192.0.2.1 --to " + service + " --port 8",
		"would go out: say where to":                                host,
		"say which protocol: tcp, udp or icmp":                      "192.0.2.1 --to 192.0.2.2",
	} {
		out, err := d.tell(append([]string{"explain"}, strings.Fields(arguments)...)...)
		if err == nil || strings.Count(out, "\n") != 1 || !strings.Contains(out, want) {
			t.Errorf("explain %s: %v: %s", arguments, err, out)
		}
	}
}

// lentEcho asks for a name, and its service for an answer.
func lentEcho(r *realm, from netns.Node, name string) (string, error) {
	address, err := lent(from, r.Gateway, name)
	if err != nil {
		return "", err
	}
	return echo(from, netip.AddrPort{}, echoAddress(address))
}
