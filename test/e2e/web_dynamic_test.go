package e2e

import (
	"context"
	"crypto/tls"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/api"
	"github.com/realmgate/realmgate/internal/lab/netns"
	"github.com/realmgate/realmgate/test/certificate"
)

// webGuests is an entry whose hosts have web names.
func webGuests(source string) string {
	return "dynamic: [{zone: foo.example., " + source + ", prefixes: [10.0.0.128/25], services: [{ports: [\"tcp/80:8080\", \"tcp/443:8443\"]}, {name: ssh, ports: [tcp/22]}]}]"
}

// secureServer serves a page by TLS at an address of a node, for a name.
func secureServer(t *testing.T, at netns.Node, address netip.Addr, name, text string) {
	t.Helper()
	listener, err := at.Listen("tcp4", netip.AddrPortFrom(address, 8443).String())
	if err != nil {
		t.Fatal(err)
	}
	pair := certificate.SelfSigned(t, certificate.ForNames(strings.TrimSuffix(name, ".")))
	server := &http.Server{Handler: page(text), ReadHeaderTimeout: 10 * time.Second}
	go func() {
		_ = server.Serve(tls.NewListener(listener, &tls.Config{Certificates: []tls.Certificate{*pair.TLS()}, MinVersion: tls.VersionTLS12}))
	}()
	t.Cleanup(func() { _ = server.Close() })
}

// secured connects to the web address by TLS, by a name.
func secured(from netns.Node, name string) (*tls.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	c, err := from.DialContext(ctx, "tcp4", netip.AddrPortFrom(webAddress, 443).String())
	if err != nil {
		return nil, err
	}
	s := tls.Client(c, &tls.Config{ServerName: strings.TrimSuffix(name, "."), InsecureSkipVerify: true}) //nolint:gosec // the test's own server
	if err := s.HandshakeContext(ctx); err != nil {
		_ = c.Close()
		return nil, err
	}
	return s, nil
}

// site is the page that a client gets by TLS and a name.
func site(from netns.Node, name string) (string, error) {
	c, err := secured(from, name)
	if err != nil {
		return "", err
	}
	defer c.Close()
	return requests(c)
}

// soonSays waits until a name leads to a page at the web address, and the name server says so.
func (r *realm) soonSays(name, text string) {
	r.t.Helper()
	from, got, at, err := r.RemoteClients[0], "", netip.Addr{}, error(nil)
	defer func() {
		if r.t.Failed() {
			r.t.Logf("%s is at %s and says %q: %v", name, at, got, err)
		}
	}()
	eventually(r.t, 2*soon, name+" says "+text, func() bool {
		if at, err = lent(from, r.Gateway, name); err != nil || at != webAddress {
			return false
		}
		got, err = site(from, name)
		return err == nil && got == text
	})
}

// misled wants a name to be told to its clients as one that nobody has.
func (r *realm) misled(name string) {
	r.t.Helper()
	if text, err := site(r.RemoteClients[0], name); err == nil || !strings.Contains(err.Error(), "unrecognized name") {
		r.t.Errorf("%s by TLS: %q, %v", name, text, err)
	}
	if text, err := fetchByName(r.RemoteClients[0], name, "-i"); err != nil || !strings.Contains(text, "421") {
		r.t.Errorf("%s by HTTP: %q, %v", name, text, err)
	}
}

// A host with a lease of a real dnsmasq is reached by TLS and HTTP at the web address, and takes none of the pool for that. Its
// sessions and its name outlive a kill of the daemon, and end with the lease: new clients hear that nobody has the name.
func TestWebNameOfLease(t *testing.T) {
	t.Parallel()
	r := newRealm(t, netns.Options{Hosts: 2, RemoteClients: 1})
	file := r.dnsmasq()
	d := r.start(with(r.configuration(), webGuests("dnsmasq: "+file), "web: {addresses: ["+webAddress.String()+"]}"))
	const name = "laptop.foo.example."
	laptop := r.lease(r.Hosts()[1], "laptop", "the laptop")
	secureServer(t, laptop.Node, laptop.IP, name, "the laptop")
	r.soonSays(name, "the laptop")
	if text, err := fetchByName(r.RemoteClients[0], name); err != nil || !strings.Contains(text, "the laptop") {
		t.Errorf("by HTTP: %q, %v", text, err)
	}
	if at := r.mustLend(r.RemoteClients[0], "ssh."+name); at == webAddress {
		t.Error("what is no web name is at the web address")
	}
	for _, n := range list[[]api.Name](d, "names", "--host", name) {
		if isWeb := n.Address == webAddress; isWeb != (n.Service == name) {
			t.Errorf("listed is %+v", n)
		}
	}
	talk, err := secured(r.RemoteClients[0], name)
	if err != nil {
		t.Fatal(err)
	}
	defer talk.Close()
	d.kill()
	d.run()
	if text, err := requests(talk); err != nil || text != "the laptop" {
		t.Errorf("after a kill the session says %q, %v", text, err)
	}
	r.soonSays(name, "the laptop")
	laptop.release()
	r.soonGone(name)
	if text, err := requests(talk); err == nil {
		t.Errorf("the lease has ended, and the session says %q", text)
	}
	if n := len(d.sessions("--address", laptop.IP.String())); n > 0 {
		t.Errorf("%d sessions are with who is gone", n)
	}
	before := d.counted("drop_name_unknown")
	r.misled(name)
	if n := d.counted("drop_name_unknown") - before; n < 2 {
		t.Errorf("%d packets are counted for a name that nobody has", n)
	}
}

// Hosts of updates have web names as well. Who has a name keeps it, a host of the configuration takes it, another name of the same
// host works at once and the former no more, and who has an address next gets nobody who asks for the one before.
func TestWebNamesOfUpdates(t *testing.T) {
	t.Parallel()
	r := newRealm(t, netns.Options{Hosts: 2, RemoteClients: 1})
	host := r.Hosts()[0]
	first, second := netip.MustParseAddr("10.0.0.200"), netip.MustParseAddr("10.0.0.201")
	for _, a := range []netip.Addr{first, second} {
		if out, err := host.Command(t.Context(), "ip", "address", "add", a.String()+"/16", "dev", "eth0").CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		secureServer(t, host, a, "x.foo.example.", a.String())
	}
	configuration := with(r.updated(), webGuests("update: {key: "+updateKey+"}"), "web: {addresses: ["+webAddress.String()+"]}")
	d := r.start(configuration)
	updates := func(want bool, commands ...string) {
		t.Helper()
		if out, err := r.nsupdate(host, updateKey, updateSecret, false, commands...); (err == nil) != want {
			t.Errorf("%s: %v, %s", commands, err, out)
		}
	}
	updates(true, "update add tv.foo.example. 60 A "+first.String())
	r.soonSays("tv.foo.example.", first.String())
	updates(false, "update add tv.foo.example. 60 A "+second.String())
	r.soonSays("tv.foo.example.", first.String())
	talk, err := secured(r.RemoteClients[0], "tv.foo.example.")
	if err != nil {
		t.Fatal(err)
	}
	defer talk.Close()
	updates(true, "update delete tv.foo.example. A", "update add radio.foo.example. 60 A "+first.String())
	if text, err := requests(talk); err == nil {
		t.Errorf("the session of the name before says %q", text)
	}
	r.soonSays("radio.foo.example.", first.String())
	r.misled("tv.foo.example.")
	updates(true, "update add tv.foo.example. 60 A "+second.String())
	r.soonSays("tv.foo.example.", second.String())
	before, _, _ := strings.Cut(configuration, "hosts:\n")
	d.write(before + "hosts:\n" + hostOpening(0, host.IP, "tv.foo.example.", "tcp/443:8443"))
	if out, err := d.tell("reload"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	secureServer(t, host, host.IP, "tv.foo.example.", "the configuration's")
	r.soonSays("tv.foo.example.", "the configuration's")
	eventually(t, soon, "the guest is gone", func() bool { return !strings.Contains(d.hosts(), "tv.foo.example.") })
	updates(false, "update add tv.foo.example. 60 A "+second.String())
	r.soonSays("tv.foo.example.", "the configuration's")
}

// A host with a lease that can less than a configured one is asked before clients want it: none loses a connection, and both are
// listed with what they can. When the lease has ended the host is listed no more.
func TestWeakWebHostOfLease(t *testing.T) {
	t.Parallel()
	r := newRealm(t, netns.Options{Hosts: 2, RemoteClients: 1})
	file := r.dnsmasq()
	d := r.start(with(r.configuration(), webGuests("dnsmasq: "+file), "web: {addresses: ["+webAddress.String()+"]}"))
	webServer(t, r.Hosts()[0], 8080, hostName(0))
	if err := r.Hosts()[1].SetSysctl("net/ipv4/tcp_timestamps", "0"); err != nil {
		t.Fatal(err)
	}
	const name = "laptop.foo.example."
	laptop := r.lease(r.Hosts()[1], "laptop", "the laptop")
	secureServer(t, laptop.Node, laptop.IP, name, "the laptop")
	listed := func() (rows map[string]api.WebHost) {
		rows = map[string]api.WebHost{}
		for _, h := range list[[]api.WebHost](d, "web") {
			rows[h.Host] = h
		}
		return rows
	}
	eventually(t, 2*soon, "the laptop is asked", func() bool { return !listed()[name].Asked.IsZero() })
	for range 3 {
		if text, err := fetchByName(r.RemoteClients[0], name); err != nil || !strings.Contains(text, "the laptop") {
			t.Errorf("%q, %v", text, err)
		}
	}
	if n := d.counted("drop_host_options"); n > 0 {
		t.Errorf("%d packets of it were dropped for its options", n)
	}
	laptop.release()
	eventually(t, 2*soon, "the laptop is not listed", func() bool { _, is := listed()[name]; return !is })
}
