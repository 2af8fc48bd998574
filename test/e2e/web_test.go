package e2e

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/realmgate/realmgate/internal/lab/netns"
)

// webAddress is where the names of the web are in these tests.
var webAddress = netip.MustParseAddr("198.18.0.80")

// fetchByName has curl fetch a page of a host by name at the web address, with more arguments.
func fetchByName(from netns.Node, name string, more ...string) (string, error) {
	name = strings.TrimSuffix(name, ".")
	arguments := append([]string{"-sS", "--max-time", "10", "--resolve", name + ":80:" + webAddress.String(), "http://" + name + "/"}, more...)
	out, err := from.Command(context.Background(), "curl", arguments...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("curl %s: %w: %s", name, err, out)
	}
	return string(out), nil
}

// Two hosts behind one address: each is reached by its name, and sees its client's own address.
func TestWebByName(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"tcx", "xdp"} {
		t.Run(mode, func(t *testing.T) {
			r := newRealm(t, netns.Options{Hosts: 2, Clients: 1})
			r.webServers()
			d := r.start(with(r.configuration(), "web: {addresses: ["+webAddress.String()+"]}",
				fmt.Sprintf("interfaces: {public: [%s], private: [%s], %s: [%[1]s, %[2]s]}", r.Gateway.Public[0], r.Gateway.Private[0], mode)))
			for range 5 {
				for i := range 2 {
					page, err := fetchByName(r.Clients[0], "www."+hostName(i))
					if err != nil {
						t.Fatal(err)
					}
					if !strings.Contains(page, hostName(i)) {
						t.Errorf("www.%s answered %q", hostName(i), page)
					}
				}
			}
			page, err := fetchByName(r.Clients[0], "nobody.foo.example.", "-i")
			if err != nil || !strings.Contains(page, "421") {
				t.Errorf("a name that nobody has: %q, %v", page, err)
			}
			_ = d
		})
	}
}
