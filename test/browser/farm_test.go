package browser

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/realmgate/realmgate/internal/lab/netns"
)

// sitesAddress is the web address of all sites in a farm.
var sitesAddress = netip.MustParseAddr("198.18.0.80")

// The ways to a farm's sites, and the zone of each.
const (
	byGateway = "foo"     // at the gateway's one web address
	byRouting = "direct"  // at the hosts' own addresses
	byPreread = "preread" // at the one address of an nginx with ssl_preread
)

// farmHosts is how many hosts a farm has for each way.
const farmHosts = 3

// farm is the same web sites three times: behind the gateway, at addresses of their own, and behind an nginx that reads names
// (ssl_preread) and forwards to the hosts that have the addresses of their own.
type farm struct {
	*world
	certificates *certifier
	inside       []*siteServer // behind the gateway
	outside      []*siteServer
	count        int // of sites
}

// siteOf is the name of a site by one of the ways. Site i is at host i % farmHosts.
func siteOf(i int, way string) string { return fmt.Sprintf("s%03d.%s.example", i, way) }

// farmHost is what the host of a site calls itself.
func farmHost(i int, way string) string {
	if way == byGateway {
		return hostName(i % farmHosts)
	}
	return "server" + hostName(i%farmHosts)
}

// newFarm lays it with so many sites, and starts the gateway with web addresses.
func newFarm(w *world, count int, habits siteHabits, addresses ...netip.Addr) *farm {
	w.t.Helper()
	f := &farm{world: w, certificates: w.newCertifier(), count: count}
	known := map[string]netip.Addr{"ready.example.": rootAddress, directNames[0]: w.Servers[0].IP}
	for i := range farmHosts {
		f.inside = append(f.inside, w.siteServer(w.Hosts()[i], farmHost(i, byGateway), hostHTTP, hostHTTPS, f.certificates, habits))
		f.outside = append(f.outside, w.siteServer(w.Servers[i], farmHost(i, byRouting), 80, 443, f.certificates, habits))
	}
	proxy := w.Servers[farmHosts]
	var to strings.Builder
	for i := range count {
		at := w.Servers[i%farmHosts].IP
		known[siteOf(i, byRouting)+"."] = at
		known[siteOf(i, byPreread)+"."] = proxy.IP
		fmt.Fprintf(&to, "    %s %s:443;\n", siteOf(i, byPreread), at)
	}
	w.preread(proxy, to.String())
	w.serve(&names{
		self: rootZone, delegations: []delegation{{"foo.example.", "ns.foo.example.", w.Gateway.PublicAddress}},
		addresses: fixed(known), ttl: 300, // as web names have
	}, w.Servers[0].Namespace, rootAddress)
	w.unbound(w.Resolver.Namespace, unboundIP, "")
	w.run(f.configuration(addresses...))
	return f
}

// farmOptions is the topology of a farm with so many clients.
func farmOptions(clients int) netns.Options {
	return netns.Options{Hosts: farmHosts, Servers: farmHosts + 1, Resolver: true, RemoteClients: clients}
}

// configuration has every site of the farm at web addresses, by TCP and QUIC, and an empty pool.
func (f *farm) configuration(addresses ...netip.Addr) string {
	g := f.Gateway
	var hosts strings.Builder
	for h := range farmHosts {
		var own []string
		for i := h; i < f.count; i += farmHosts {
			own = append(own, siteOf(i, byGateway)+".")
		}
		fmt.Fprintf(&hosts, "  - name: %s.foo.example.\n    address: %s\n    services:\n", hostName(h), g.Hosts[h].IP)
		fmt.Fprintf(&hosts, "      - {names: [%s], ports: [tcp/80:%d, tcp/443:%d, udp/443:%[3]d]}\n", strings.Join(own, ", "), hostHTTP, hostHTTPS)
	}
	return fmt.Sprintf(`interfaces: {public: [%s], private: [%s]}
realm: {zones: [foo.example.], nameserver: ns.foo.example.}
dns: {public: "%s:53", private: "%s:53", upstream: ["%s:53"]}
pool: {addresses: [%s]}
outbound: {addresses: [%s]}
web: {addresses: [%s], quic: true}
capacity: 100000
hosts:
%s`, strings.Join(g.Public, ", "), strings.Join(g.Private, ", "), g.PublicAddress, g.PrivateAddress, unboundIP,
		g.Pool.Addr(), g.Outbound, joined(addresses), hosts.String())
}

func joined(addresses []netip.Addr) string {
	var all []string
	for _, a := range addresses {
		all = append(all, a.String())
	}
	return strings.Join(all, ", ")
}

// sites are the farm's sites behind the gateway, for others who visit them.
func (f *farm) sites() (all []site) {
	for i := range f.count {
		all = append(all, site{siteOf(i, byGateway) + ".", i % farmHosts, []int{443}})
	}
	return all
}

// origins are so many sites from one on, by one of the ways.
func (f *farm) origins(first, n int, way string) (all []origin) {
	for i := range n {
		site := (first + i) % f.count
		all = append(all, origin{"https://" + siteOf(site, way), farmHost(site, way)})
	}
	return all
}

// preread starts an nginx on a node that forwards port 443 by the name in the hello, and reads nothing else: what others
// have for what the gateway does.
func (w *world) preread(node netns.Node, to string) {
	w.t.Helper()
	const module = "/usr/lib/nginx/modules/ngx_stream_module.so"
	if _, err := os.Stat(module); err != nil {
		w.missing(module)
	}
	directory := filepath.Join(w.directory, "nginx-"+node.Name())
	config := filepath.Join(directory, "nginx.conf")
	write(w.t, config, fmt.Sprintf(`load_module %[3]s;
daemon off;
user root;
worker_processes 1;
pid %[1]s/pid;
error_log %[1]s/error.log warn;
events { worker_connections 4096; }
stream {
  map_hash_bucket_size 128;
  map $ssl_preread_server_name $to {
%[2]s  }
  server {
    listen 443;
    ssl_preread on;
    proxy_pass $to;
  }
}
`, directory, to, module))
	w.server(node.Namespace, "nginx", "-p", directory, "-e", directory+"/error.log", "-c", config)
	eventually(w.t, 10*time.Second, "nginx listens on "+node.Name(), func() bool {
		out, err := node.Command(background, "ss", "-Hltn").Output()
		return err == nil && strings.Contains(string(out), ":443")
	})
}
