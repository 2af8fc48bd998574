package e2e

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/realmgate/realmgate/internal/client"
	"github.com/realmgate/realmgate/internal/lab/netns"
)

const (
	updateKey    = "d2.foo.example."
	updateSecret = "c2VjcmV0IG9mIHRoZSB0ZXN0cywgMzIgb2N0ZXRzLi4="
)

// updated is a configuration in which hosts of the private network's upper part are registered by updates.
func (r *realm) updated() string {
	text := with(r.configuration(), dynamicHosts("update: {key: "+updateKey+"}"))
	return strings.Replace(text, "dns: {", fmt.Sprintf("dns: {keys: [{name: %s, secret: %q}, {name: other.foo.example., secret: %[2]q}], ", updateKey, updateSecret), 1)
}

// nsupdate has a real nsupdate send some updates from a host, by a key, over UDP or TCP, and returns what it says.
func (r *realm) nsupdate(host netns.Node, key, secret string, tcp bool, commands ...string) (string, error) {
	arguments := []string{"-t", "5", "-y", "hmac-sha256:" + key + ":" + secret}
	if tcp {
		arguments = append(arguments, "-v")
	}
	command := host.Command(context.Background(), "nsupdate", arguments...)
	command.Stdin = strings.NewReader(fmt.Sprintf("server %s\nzone foo.example.\n%s\nsend\nquit\n", r.Gateway.PrivateAddress, strings.Join(commands, "\n")))
	out, err := command.CombinedOutput()
	return string(out), err
}

// hosts are those that have registered themselves.
func (d *daemon) hosts() string {
	d.t.Helper()
	var found []string
	for _, h := range list[[]client.Host](d, "hosts") {
		if h.Source != "" {
			found = append(found, h.Name+"@"+h.Address.String())
		}
	}
	return strings.Join(found, " ")
}

// A real nsupdate adds, moves and deletes hosts, with prerequisites, and what it may not is refused and changes nothing.
func TestNsupdate(t *testing.T) {
	t.Parallel()
	r := newRealm(t, netns.Options{Hosts: 1, RemoteClients: 1})
	host := r.Hosts()[0]
	own := netip.MustParseAddr("10.0.0.200") // a further address of the host
	if out, err := host.Command(t.Context(), "ip", "address", "add", own.String()+"/16", "dev", "eth0").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	webServer(t, netns.Node{Namespace: host.Namespace, IP: own}, 8080, "the laptop")
	d := r.start(r.updated())
	must := func(tcp bool, commands ...string) {
		t.Helper()
		if out, err := r.nsupdate(host, updateKey, updateSecret, tcp, commands...); err != nil {
			t.Errorf("%q: %v: %s\n%s", commands, err, out, d.logged())
		}
	}
	must(false, "prereq nxdomain laptop.foo.example.", "update add laptop.foo.example. 60 A 10.0.0.200")
	r.soonReaches("laptop.foo.example.", "the laptop")
	laptop := "laptop.foo.example.@10.0.0.200"
	for _, c := range []struct {
		about, key, secret, answer string
		commands                   []string
	}{
		{"a name that is there", updateKey, updateSecret, "YXDOMAIN", []string{"prereq nxdomain laptop.foo.example.", "update add laptop.foo.example. 60 A 10.0.0.201"}},
		{"an RRset that is there", updateKey, updateSecret, "YXRRSET", []string{"prereq nxrrset laptop.foo.example. A", "update delete laptop.foo.example."}},
		{"an RRset that is not there", updateKey, updateSecret, "NXRRSET", []string{"prereq yxrrset laptop.foo.example. A 10.0.0.209", "update delete laptop.foo.example."}},
		{"a name that is not there", updateKey, updateSecret, "NXDOMAIN", []string{"prereq yxdomain other.foo.example.", "update delete laptop.foo.example."}},
		{"a wrong secret", updateKey, strings.Replace(updateSecret, "c2", "d3", 1), "NOTAUTH", []string{"update delete laptop.foo.example."}},
		{"an unknown key", "nobody.foo.example.", updateSecret, "NOTAUTH", []string{"update delete laptop.foo.example."}},
		{"a key of something else", "other.foo.example.", updateSecret, "REFUSED", []string{"update delete laptop.foo.example."}},
		{"a foreign address", updateKey, updateSecret, "REFUSED", []string{"update add x.foo.example. 60 A 10.0.0.5", "update delete laptop.foo.example."}},
		{"the gateway's address", updateKey, updateSecret, "REFUSED", []string{"update add x.foo.example. 60 A " + r.Gateway.PrivateAddress.String()}},
		{"a name of the configuration", updateKey, updateSecret, "REFUSED", []string{"update delete host1.foo.example. A", "update add host1.foo.example. 60 A 10.0.0.201"}},
		{"another zone", updateKey, updateSecret, "NOTAUTH", []string{"zone bar.example.", "update add x.bar.example. 60 A 10.0.0.201"}},
	} {
		out, err := r.nsupdate(host, c.key, c.secret, false, c.commands...)
		if err == nil || !strings.Contains(out, c.answer) || d.hosts() != laptop {
			t.Errorf("%s: %v, %q, and there is %q, want %s", c.about, err, out, d.hosts(), c.answer)
		}
	}
	if out, err := r.nsupdate(host, "host1.foo.example.", updateSecret, true, "update delete laptop.foo.example."); err == nil || !strings.Contains(out, "NOTAUTH") {
		t.Errorf("over TCP: %v, %s", err, out)
	}
	must(true, "prereq yxrrset laptop.foo.example. A 10.0.0.200", "update delete laptop.foo.example. A", "update add laptop.foo.example. 60 A 10.0.0.201", "update add tv.foo.example. 60 A 10.0.0.202")
	if got := d.hosts(); got != "laptop.foo.example.@10.0.0.201 tv.foo.example.@10.0.0.202" {
		t.Errorf("there is %q", got)
	}
	answer, err := ask(host, "udp", r.Gateway.PrivateAddress, "201.0.0.10.in-addr.arpa.", dns.TypePTR)
	if err != nil || len(answer.Answer) != 1 || !strings.Contains(answer.Answer[0].String(), "laptop.foo.example.") {
		t.Errorf("%v, %v", answer, err)
	}
	d.kill()
	d.run()
	if got := d.hosts(); got != "laptop.foo.example.@10.0.0.201 tv.foo.example.@10.0.0.202" {
		t.Errorf("after a kill there is %q", got)
	}
	must(false, "update delete laptop.foo.example.", "update delete tv.foo.example.")
	r.soonGone("laptop.foo.example.")
	if got := d.hosts(); got != "" {
		t.Errorf("there is %q", got)
	}
}

// Kea's D2 registers by itself what Kea leases, takes it away when the lease ends, and gives no name to another client.
func TestKeaD2(t *testing.T) {
	t.Parallel()
	r := newRealm(t, netns.Options{Hosts: 3, RemoteClients: 1})
	r.kea("kea-dhcp-ddns", fmt.Sprintf(`{"DhcpDdns": {
		"ip-address": "127.0.0.1", "port": 53001,
		"tsig-keys": [{"name": %q, "algorithm": "HMAC-SHA256", "secret": %q}],
		"forward-ddns": {"ddns-domains": [{"name": "foo.example.", "key-name": %[1]q, "dns-servers": [{"ip-address": %[3]q}]}]},
		"reverse-ddns": {},
		"loggers": [{"name": "kea-dhcp-ddns", "output_options": [{"output": "stdout"}], "severity": "INFO"}]
	}}`, updateKey, updateSecret, r.Gateway.PrivateAddress))
	r.keaLeases(2*time.Minute, `, "dhcp-ddns": {"enable-updates": true, "server-ip": "127.0.0.1", "server-port": 53001},
		"ddns-send-updates": true, "ddns-override-client-update": true, "ddns-override-no-update": true, "ddns-qualifying-suffix": "foo.example."`)
	d := r.start(r.updated())
	laptop := r.lease(r.Hosts()[1], "laptop", "the laptop")
	r.soonReaches("laptop.foo.example.", "the laptop")
	r.lease(r.Hosts()[2], "laptop", "the thief")
	eventually(t, 10*time.Second, "D2 is told that the name is another client's", func() bool { return strings.Contains(d.logged(), "answer=NXRRSET") })
	if !r.reaches("laptop.foo.example.", "the laptop") {
		t.Error("another client has taken the name")
	}
	laptop.release()
	r.soonGone("laptop.foo.example.")
	if got := d.hosts(); got != "" {
		t.Errorf("there is %q", got)
	}
}
