package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// A tun outside that carries 1,400 octets, and one inside: who sends more is told, and TCP says what fits. They are served on while no daemon runs, taken over by
// the next one, and left as they were at its stop.
func TestTunLivesOn(t *testing.T) {
	t.Parallel()
	options := defaultOffloads
	options.Hosts, options.Clients, options.Servers = 1, 1, 1
	r := newRealm(t, options)
	w := &works{realm: r}
	w.tuns()
	for _, end := range [][2]string{{"gateway", "tun0"}, {"router", "tun1"}} {
		r.command(end[0], "ip", "link", "set", end[1], "mtu", "1400")
	}
	forwarding := func(want string) {
		t.Helper()
		for _, name := range []string{"tun0", "tun2"} {
			if got, err := r.Gateway.Sysctl("net/ipv4/conf/" + name + "/forwarding"); err != nil || got != want {
				t.Errorf("forwarding of %s is %s, %v, want %s", name, got, err, want)
			}
		}
	}
	forwarding("0")
	d := r.start(with(r.configuration(), fmt.Sprintf("interfaces: {public: [%s], private: [%s]}", w.public, w.private)))
	r.everything()
	forwarding("1")
	host, server := r.Hosts()[0], r.Servers[0]
	out, _ := host.Command(t.Context(), "ping", "-c", "5", "-i", "0.2", "-W", "5", "-M", "do", "-s", "1400", server.IP.String()).CombinedOutput()
	if said := string(out); !strings.Contains(said, "From 10.0.0.1 ") || !strings.Contains(said, "mtu = 1400") {
		t.Errorf("the host is not told what fits: %s", said)
	}
	d.kill()
	r.bulk("without a daemon", host, server.IP, 8080)
	d.run()
	if !d.status().Adopted {
		t.Error("the data plane is not adopted")
	}
	r.bulk("adopted", host, server.IP, 8080)
	r.mustReach(r.Clients[0], 0)
	d.stop()
	forwarding("0")
	if names := attached(t, r.Gateway); len(names) > 0 {
		t.Errorf("programs are still attached to %v", names)
	}
}

// Web by name where the uplink is a tun: what the gateway says itself arrives there, and what a host says.
func TestWebAnswersByATun(t *testing.T) {
	t.Parallel()
	options := defaultOffloads
	options.Hosts, options.Clients, options.Servers = 2, 1, 1
	r := newRealm(t, options)
	w := &works{realm: r}
	w.tunOutside()
	r.command("router", "ip", "route", "add", webAddress.String(), "dev", "tun1")
	r.webServers()
	hosts, client := r.Hosts(), r.Clients[0]
	r.start(with(r.publishing(
		fmt.Sprintf("  - {name: %s, address: %s, open: [tcp/80:8080, tcp/443:8443], redirect: https}\n", hostName(0), hosts[0].IP),
		hostOpening(1, hosts[1].IP, siteName(1), "tcp/80:8080"),
	), "web: {addresses: ["+webAddress.String()+"]}", "interfaces: {public: [tun0], private: [eth1]}"))
	readsNames(t, client)
	for name, want := range map[string]int{hostName(0): http.StatusPermanentRedirect, siteName(1): http.StatusOK, "nobody.foo.example.": http.StatusMisdirectedRequest} {
		response, _, err := answered(client, "GET /", name)
		if err != nil || response.StatusCode != want {
			t.Errorf("%s: %v, %v, want %d", name, response, err, want)
		}
	}
}
