package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/lab/netns"
)

// sites are the guide's, in the order of the lab's hosts, and how each gets its certificate.
var sites = []struct{ name, address, challenge string }{
	{"www.foo.example", "10.0.0.100", "http-01"},
	{"shop.foo.example", "10.0.0.101", "tls-alpn-01"},
	{"blog.foo.example", "10.0.0.102", "http-01"},
}

// The guide's three HTTPS sites behind one address, from a gateway without them: each gets its certificate by itself, and
// every command of the page does what the page says.
func TestGuideWeb(t *testing.T) {
	t.Parallel()
	r := newRealm(t, netns.Options{Hosts: len(sites), Clients: 1, RemoteClients: 1, Resolver: true})
	r.resolver()
	place := r.RemoteClients[0]
	r.resolverAt(place, "", fmt.Sprintf("stub-zone:\n  name: foo.example.\n  stub-addr: %s\n", r.Gateway.PublicAddress))
	authority := r.pebble(r.build("github.com/letsencrypt/pebble/v2/cmd/pebble"), place)
	d := r.start(r.configuration())

	usual, _, _ := strings.Cut(r.configuration(), "hosts:\n")
	var replaced []string
	for i, site := range sites {
		replaced = append(replaced, site.address, r.Hosts()[i].IP.String())
	}
	d.write(usual + r.guideBlock("web.md", 0, replaced...))
	for line := range strings.Lines(r.guideBlock("web.md", 1, "/etc/realmgate.yaml", d.config)) {
		if out, err := d.tell(strings.Fields(line)[1:]...); err != nil {
			t.Fatalf("%s: %v: %s", line, err, out)
		}
	}
	for i := range sites {
		r.site(i, authority)
	}
	r.put("root.pem", authority.root())
	for _, site := range sites {
		eventually(t, time.Minute, site.name+" has its certificate", func() bool {
			out, err := r.outside("curl -sS -m 5 https://" + site.name + "/").CombinedOutput()
			return err == nil && string(out) == pageOf(site.name)
		})
	}

	r.outsideDoes(3)
	r.outsideDoes(4)
	if out, err := r.outside("curl -sS -L http://www.foo.example/").CombinedOutput(); err != nil || string(out) != pageOf("www.foo.example") {
		t.Errorf("by way of http: %q, %v", out, err)
	}
	visits := d.sessions("--host", "shop.foo.example", "--address", r.Clients[0].IP.String())
	for _, s := range visits {
		if s.Origin != "web" || s.Name != "shop.foo.example." || s.Private.Addr() != r.Hosts()[1].IP || s.External.Addr() != webAddress {
			t.Errorf("a visit to the second site: %+v", s)
		}
	}
	if len(visits) == 0 {
		t.Error("no visit to the second site is listed")
	}
	d.explained("would pass", "203.0.113.70", "--name", "shop.foo.example")
	if out, err := d.tell("explain", "203.0.113.70", "--name", "nobody.foo.example"); err != nil || !strings.Contains(out, "drop_name_unknown") {
		t.Errorf("explain of a name that nobody has: %v: %s", err, out)
	}
	if web := d.status().Web; web == nil || web.Opened < uint64(len(sites)) || web.Refused == 0 {
		t.Errorf("status of the web: %+v", web)
	}
	d.kill()
	waiting := make(chan error, 1)
	go func() {
		out, err := r.outside("curl -sS -m 30 https://blog.foo.example/").CombinedOutput()
		if err == nil && string(out) != pageOf("blog.foo.example") {
			err = fmt.Errorf("the page is %q", out)
		}
		waiting <- err
	}()
	eventually(t, 10*time.Second, "a client waits for a daemon", func() bool {
		out, err := r.Clients[0].Command(t.Context(), "ss", "-Htn", "state", "established", "dst", webAddress.String()).Output()
		return err == nil && len(out) > 0
	})
	d.run()
	if err := <-waiting; err != nil {
		t.Errorf("who came while no daemon ran: %v", err)
	}
	if out, err := d.tell("names"); err != nil || !strings.Contains(out, webAddress.String()) {
		t.Errorf("names: %v: %s", err, out)
	}
}

func pageOf(name string) string { return "This is " + name + ".\n" }

// site runs the guide's web server at a host, with what has it get its certificate from an authority, by one challenge alone.
func (r *realm) site(i int, from authority) {
	r.t.Helper()
	site, other := sites[i], map[string]string{"http-01": "tlsalpn", "tls-alpn-01": "http"}[sites[i].challenge]
	directory := filepath.Join(r.directory, site.name)
	if err := os.MkdirAll(directory, 0o700); err != nil {
		r.t.Fatal(err)
	}
	r.put(site.name+"/index.html", pageOf(site.name))
	issuer := fmt.Sprintf("tls {\n\t\tissuer acme {\n\t\t\tdir %s\n\t\t\ttrusted_roots %s\n\t\t\tdisable_%s_challenge\n\t\t}\n\t}\n\tfile_server", from.directory, from.file, other)
	r.put(site.name+".caddy", "{\n\tadmin off\n}\n"+strings.ReplaceAll(r.guideBlock("web.md", 2, "/srv/www", directory, "file_server", issuer), "www.foo.example {", site.name+" {"))
	host := r.Hosts()[i]
	server := host.Command(context.Background(), "caddy", "run", "--adapter", "caddyfile", "--config", filepath.Join(r.directory, site.name+".caddy"))
	server.Env = append(os.Environ(), "HOME="+directory, "XDG_DATA_HOME="+directory+".data", "XDG_CONFIG_HOME="+directory+".data")
	r.logs(server, site.name)
}

// outside is a command of a shell of the first client's, which asks the resolver and believes the authority.
func (r *realm) outside(line string) *netns.Command {
	command := r.named(r.t.Context(), r.Clients[0], "sh", "-c", line)
	command.Env = append(os.Environ(), "CURL_CA_BUNDLE="+filepath.Join(r.directory, "root.pem"), "HOME="+r.directory)
	return command
}

// outsideDoes types the commands of a console block of the page, and expects what it shows.
func (r *realm) outsideDoes(block int) {
	r.t.Helper()
	for _, part := range strings.Split("\n"+r.guideBlock("web.md", block), "\n$ ")[1:] {
		line, want, _ := strings.Cut(part, "\n")
		out, err := r.outside(line).Output()
		if err != nil || strings.TrimSpace(string(out)) != strings.TrimSpace(want) {
			r.t.Errorf("%s: %q, %v; the page says %q", line, out, err, want)
		}
	}
}
