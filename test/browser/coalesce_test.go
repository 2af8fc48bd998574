package browser

import (
	"encoding/json"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/api"
)

// Two hosts with one certificate for both of their names. At one web address a browser may take the connection to one host for
// the other's name, too, so a warning names both; with two addresses it comes to each host for its own name.
func TestSharedCertificate(t *testing.T) {
	t.Parallel()
	shared := []string{siteOf(0, byGateway), siteOf(1, byGateway)}
	load := func(f *farm) outcome {
		browser, err := surfer{who: "Chromium", http: "HTTP/2.0"}.start(f, f.newMachine(f.RemoteClients[0], unboundIP))
		if err != nil {
			f.t.Fatal(err)
		}
		o := look(browser, pageURL("", f.origins(0, 2, byGateway)), hostName(0), resources)
		if o.wrong || o.failed {
			return o
		}
		// Chromium keeps connections for requests with and without credentials apart; to go to a page is one with.
		return look(browser, pageURL("", f.origins(1, 1, byGateway)), hostName(1), resources)
	}
	t.Run("one address", func(t *testing.T) {
		f := newFarm(newWorld(t, farmOptions(1)), farmHosts, siteHabits{shared: shared}, sitesAddress)
		var warning string
		eventually(t, 30*time.Second, "a warning names both hosts", func() bool {
			status, err := f.status()
			for _, line := range status.Warnings {
				if strings.Contains(line, hostName(0)+".") && strings.Contains(line, hostName(1)+".") {
					warning = line
				}
			}
			return err == nil && warning != ""
		})
		t.Log(warning)
		o := load(f)
		t.Logf("Chromium, where nothing is promised: wrong %t, failed %t %s", o.wrong, o.failed, o.detail)
	})
	t.Run("two addresses", func(t *testing.T) {
		f := newFarm(newWorld(t, farmOptions(1)), farmHosts, siteHabits{shared: shared}, sitesAddress, sitesAddress.Next())
		eventually(t, 30*time.Second, "the hosts are apart", func() bool {
			at := f.webAddresses()
			return at[hostName(0)].IsValid() && at[hostName(1)].IsValid() && at[hostName(0)] != at[hostName(1)]
		})
		status, err := f.status()
		f.must(err)
		for _, line := range status.Warnings {
			if strings.Contains(line, "certificate") {
				t.Errorf("it warns: %s", line)
			}
		}
		if o := load(f); o.wrong || o.failed {
			t.Errorf("wrong %t, failed %t: %s", o.wrong, o.failed, o.detail)
		}
	})
}

// webAddresses are the web addresses of the hosts whose certificates are known.
func (f *farm) webAddresses() map[string]netip.Addr {
	out, err := f.Gateway.Command(background, program, "web", "-o", "json", "--instance", f.ID()).Output()
	var hosts []api.WebHost
	if err == nil {
		err = json.Unmarshal(out, &hosts)
	}
	if err != nil {
		f.t.Error(err)
	}
	at := map[string]netip.Addr{}
	for _, h := range hosts {
		if h.State == api.WebAsked {
			name, _, _ := strings.Cut(string(h.Host), ".")
			at[name] = h.Address
		}
	}
	return at
}
