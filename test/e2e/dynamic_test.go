package e2e

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/client"
	"github.com/realmgate/realmgate/internal/lab/netns"
)

// soon is within what a lease, and its end, has to be in force.
const soon = 2 * time.Second

// leased is a host that has its address by DHCP, and a web server.
type leased struct {
	netns.Node
	r      *realm
	client *netns.Command
}

// lease has a host ask for an address by DHCP, as name, and serve a page that says page.
func (r *realm) lease(host netns.Node, name, page string) *leased {
	r.t.Helper()
	script := filepath.Join(r.directory, "asked")
	if err := os.WriteFile(script, []byte(askedByDHCP), 0o700); err != nil { //nolint:gosec // a program
		r.t.Fatal(err)
	}
	if out, err := host.Command(r.t.Context(), "ip", "address", "flush", "dev", "eth0").CombinedOutput(); err != nil {
		r.t.Fatalf("%v: %s", err, out)
	}
	l := &leased{Node: host, r: r}
	l.client = host.Command(context.Background(), "udhcpc", "-f", "-R", "-i", "eth0", "-t", "20", "-T", "1", "-s", script, "-F", name, "-x", "hostname:"+name)
	if err := l.client.Start(); err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(l.release)
	eventually(r.t, 20*time.Second, name+" has an address", func() bool {
		out, err := host.Command(r.t.Context(), "ip", "-4", "-o", "address", "show", "dev", "eth0").Output()
		if err != nil {
			return false
		}
		words := strings.Fields(string(out))
		if len(words) < 4 {
			return false
		}
		l.IP = netip.MustParsePrefix(words[3]).Addr()
		return true
	})
	webServer(r.t, l.Node, 8080, page)
	return l
}

// release gives the lease back.
func (l *leased) release() {
	if l.client == nil {
		return
	}
	_ = l.client.Process.Signal(syscall.SIGTERM) // -R: it releases
	_ = l.client.Wait()
	l.client = nil
}

// dnsmasq leases addresses of the private network, as at a home gateway, into a file that it returns.
func (r *realm) dnsmasq(flags ...string) (file string) {
	r.t.Helper()
	file = filepath.Join(r.directory, "dnsmasq.leases")
	server := r.Gateway.Command(context.Background(), "dnsmasq", append([]string{
		"--keep-in-foreground", "--conf-file=/dev/null", "--user=root", "--pid-file=", "--port=0", "--interface=eth1", "--bind-interfaces", "--dhcp-authoritative",
		"--no-ping", "--dhcp-leasefile=" + file, "--dhcp-range=10.0.0.200,10.0.0.220,255.255.0.0,2m"}, flags...)...)
	if err := server.Start(); err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	})
	eventually(r.t, 10*time.Second, "dnsmasq listens", func() bool { return listens(netns.Node{Namespace: r.Gateway.Namespace}, 67) == nil })
	return file
}

// dynamicHosts is an entry of the configuration.
func dynamicHosts(source string) string {
	return "dynamic: [{zone: foo.example., " + source + ", prefixes: [10.0.0.128/25], services: [{ports: [\"tcp/80:8080\"]}, {name: ssh, ports: [tcp/22]}]}]"
}

// reaches reports that a name is answered, and leads to a page.
func (r *realm) reaches(name, page string) bool {
	at, err := lent(r.RemoteClients[0], r.Gateway, name)
	if err != nil {
		return false
	}
	got, err := curl(r.RemoteClients[0], at, 80)
	return err == nil && strings.TrimSpace(got) == page
}

// soonReaches waits no longer than it may take, and says how long it took.
func (r *realm) soonReaches(name, page string) {
	r.t.Helper()
	began := time.Now()
	eventually(r.t, soon, name+" is reached", func() bool { return r.reaches(name, page) })
	r.t.Logf("%s was reached after %s", name, time.Since(began).Round(time.Millisecond))
}

// soonGone is the same for a name that is to be answered no more.
func (r *realm) soonGone(name string) {
	r.t.Helper()
	began := time.Now()
	eventually(r.t, soon, name+" is gone", func() bool {
		_, err := lent(r.RemoteClients[0], r.Gateway, name)
		return err != nil && strings.Contains(err.Error(), "NXDOMAIN")
	})
	r.t.Logf("%s was gone after %s", name, time.Since(began).Round(time.Millisecond))
}

// A host that gets a lease of a real dnsmasq is reached by its name, is listed with its source and end, survives a kill of the
// daemon, and is gone when it gives the lease back, with who is connected. A neighbour that calls itself the same gets nothing,
// though dnsmasq gives it the name.
func TestDnsmasqLease(t *testing.T) {
	t.Parallel()
	r := newRealm(t, netns.Options{Hosts: 3, RemoteClients: 1})
	file := r.dnsmasq()
	d := r.start(with(r.configuration(), dynamicHosts("dnsmasq: "+file)))
	r.webServers()
	laptop := r.lease(r.Hosts()[1], "laptop", "the laptop")
	r.soonReaches("laptop.foo.example.", "the laptop")
	listed := func() (found client.Host) {
		for _, h := range list[[]client.Host](d, "hosts") {
			if h.Name == "laptop.foo.example." {
				found = h
			}
		}
		return found
	}
	if h := listed(); h.Source != "dnsmasq" || h.Address != laptop.IP || time.Until(h.Ends) < time.Minute || time.Until(h.Ends) > 2*time.Minute {
		t.Errorf("%+v", h)
	}
	if s := d.status(); s.Registered == nil || s.Registered.Used != 1 || s.Registered.Capacity != 10_000 {
		t.Errorf("%+v", s.Registered)
	}
	r.lease(r.Hosts()[2], "laptop", "the thief")
	eventually(t, soon, "the neighbour is refused", func() bool { return d.warning("laptop at ") != "" })
	if text, err := os.ReadFile(file); err != nil || strings.Contains(string(text), laptop.IP.String()+" laptop") {
		t.Errorf("dnsmasq has not given the name away, which shows nothing: %v\n%s", err, text)
	}
	if !r.reaches("laptop.foo.example.", "the laptop") {
		t.Error("the neighbour has taken the name")
	}
	at := r.mustLend(r.RemoteClients[0], "laptop.foo.example.")
	talk, err := r.RemoteClients[0].DialContext(t.Context(), "tcp4", netip.AddrPortFrom(at, 80).String())
	if err != nil {
		t.Fatal(err)
	}
	defer talk.Close()
	d.kill()
	d.run()
	if !d.speaks(talk) {
		t.Error("the session did not survive a kill")
	}
	if !r.reaches("laptop.foo.example.", "the laptop") {
		t.Error("the name did not survive a kill, or the neighbour has it")
	}
	laptop.release()
	r.soonReaches("laptop.foo.example.", "the thief") // nobody else has the name now
	if n := len(d.sessions("--address", laptop.IP.String())); n > 0 {
		t.Errorf("%d sessions are with who is gone", n)
	}
}

// speaks reports that a connection goes on: its page comes.
func (d *daemon) speaks(talk interface {
	Read([]byte) (int, error)
	Write([]byte) (int, error)
	SetDeadline(time.Time) error
}) bool {
	_ = talk.SetDeadline(time.Now().Add(5 * time.Second))
	if _, err := fmt.Fprintf(talk, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		return false
	}
	n, err := talk.Read(make([]byte, 512))
	return err == nil && n > 0
}
