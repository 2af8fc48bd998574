package packages

import (
	"fmt"
	"net/netip"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/lab/netns"
	"github.com/realmgate/realmgate/test/lab"
)

const configurationFile = "/etc/realmgate.yaml"

// story is a machine that the package is put on, with a host behind it and a client before it.
type story struct {
	*machine
	network *netns.Gateway
	client  netns.Node
}

func configuration(g *netns.Gateway) string {
	return fmt.Sprintf(`interfaces: {public: [%s], private: [%s]}
realm: {zones: [foo.example.], nameserver: ns.foo.example.}
dns: {public: "%s:53", private: "%s:53"}
pool: {addresses: [%s], reservation_timeout: 20s} # one program asks and another comes, while others have the CPUs
outbound: {addresses: [%s]}
capacity: 100000
hosts:
  - name: host.foo.example.
    address: %s
    services: [{names: [www.foo.example.], ports: [tcp/80:8080]}]
`, g.Public[0], g.Private[0], g.PublicAddress, g.PrivateAddress, g.Pool, g.Outbound, g.Hosts[0].IP)
}

// The package's life on a Debian whose process 1 is systemd: install, start, reload, kill, upgrade, an upgrade that cannot take
// over, remove, purge.
func TestMachine(t *testing.T) {
	lab.LengthyOnly(t)
	t.Parallel()
	r := lab.NewRealm(t, netns.Options{Prefix: "packages", Hosts: 1, Clients: 1})
	s := story{newMachine(t, r.Gateway, bookworm.archive(t)), r.Gateway, r.Clients[0]}
	web := serve(t, r.Hosts()[0])
	for name, v := range map[string]string{"/first.deb": built(t, "*_amd64.deb"), "/next.deb": next(t)} {
		content, err := os.ReadFile(v)
		if err != nil {
			t.Fatal(err)
		}
		s.put(content, name)
	}
	before := s.snapshot()
	s.install()
	s.start()
	s.reload()
	s.kill()
	s.upgrade(web)
	s.refuse()
	s.remove()
	before.compare(t, s.snapshot())
}

// next is the package of the next version. It differs in that alone.
var nextVersion = sync.OnceValue(func() made {
	folder, err := sources("next")
	if err != nil {
		return made{err: err}
	}
	return build(folder, version+".1")
})

func next(t *testing.T) string {
	t.Helper()
	m := nextVersion()
	if m.err != nil {
		t.Fatalf("%v\n%s", m.err, m.said)
	}
	return m.dist + "/realmgate_" + version + ".1-1_amd64.deb"
}

// fetch asks for the name, over TCP as its address counts then, and fetches a path of what has it.
func (s *story) fetch(path string) (string, error) {
	address, err := s.ask()
	if err != nil {
		return "", err
	}
	out, err := s.client.Command(s.t.Context(), "curl", "-sS", "--max-time", "10", "http://"+address+path).CombinedOutput()
	return string(out), err
}

func (s *story) ask() (string, error) {
	out, err := s.client.Command(s.t.Context(), "dig", "+tcp", "+short", "+time=1", "+tries=1", "@"+s.network.PublicAddress.String(), "www.foo.example").Output()
	if err != nil {
		return "", err
	}
	address, err := netip.ParseAddr(strings.TrimSpace(string(out)))
	return address.String(), err
}

// serves checks that a name leads to its page.
func (s *story) serves(when string) {
	s.t.Helper()
	start := time.Now()
	if page, err := s.fetch("/"); err != nil || page != "page" {
		s.t.Fatalf("%s: %q, %v after %s", when, page, err, time.Since(start))
	}
}

// Nothing starts without a configuration, nor with a wrong one; both are told.
func (s *story) install() {
	s.t.Helper()
	out := s.must("apt-get", "install", "-y", "/first.deb")
	if !strings.Contains(out, "realmgate: write "+configurationFile) {
		s.t.Errorf("installing says nothing of the configuration:\n%s", out)
	}
	s.put([]byte("interfaces: {private: [eth1]}\n"), configurationFile)
	if out := s.must("dpkg", "-i", "/first.deb"); !strings.Contains(out, configurationFile+":1: interfaces") || !strings.Contains(out, "correct "+configurationFile) {
		s.t.Errorf("installing says nothing of the faults:\n%s", out)
	}
	if state := s.show("ActiveState"); state != "inactive" {
		s.t.Errorf("with a wrong configuration it is %s", state)
	}
	if state, _ := s.run("systemctl", "is-enabled", "realmgate"); state != "enabled" {
		s.t.Errorf("after the next boot it would not run: %s", state)
	}
}

func (s *story) start() {
	s.t.Helper()
	s.put([]byte(configuration(s.network)), configurationFile)
	s.must("systemctl", "start", "realmgate")
	s.serves("after the start")
	if user := s.must("stat", "--format=%U", "/proc/"+s.show("MainPID")); user != "realmgate" {
		s.t.Errorf("it runs as %s", user)
	}
}

// What systemctl says of a reload is what became of it.
func (s *story) reload() {
	s.t.Helper()
	s.must("systemctl", "reload", "realmgate")
	s.put([]byte("interfaces: none\n"), configurationFile)
	if out, err := s.run("systemctl", "reload", "realmgate"); err == nil {
		s.t.Errorf("a wrong configuration is reloaded: %s", out)
	}
	s.serves("after a reload that was refused")
	s.put([]byte(configuration(s.network)), configurationFile)
}

// A gateway that dies is started again, and has all its sessions.
func (s *story) kill() {
	s.t.Helper()
	c := s.open()
	pid := s.show("MainPID")
	s.must("systemctl", "kill", "--signal=KILL", "realmgate")
	eventually(s.t, time.Minute, "systemd has started it again", func() bool {
		return s.show("MainPID") != pid && s.show("ActiveState") == "active"
	})
	c.goesOn(s.t, "a kill")
	s.serves("after a kill")
}

// A download goes on, and is right, while dpkg puts the next version in the place of the one that serves it.
func (s *story) upgrade(web *site) {
	s.t.Helper()
	address, err := s.ask()
	if err != nil {
		s.t.Fatal(err)
	}
	type result struct {
		sum string
		error
	}
	over := make(chan result, 1)
	go func() {
		out, err := s.client.Command(s.t.Context(), "bash", "-o", "pipefail", "-c", "curl -sS --fail --speed-limit 1 --speed-time 20 http://"+address+"/large | sha256sum").CombinedOutput()
		over <- result{strings.TrimSuffix(strings.TrimSpace(string(out)), "  -"), err}
	}()
	<-web.begun
	asked, gap := make(chan struct{}), make(chan time.Duration, 1)
	go func() { gap <- s.longestSilence(asked) }()
	pid := s.show("MainPID")
	out := s.must("dpkg", "-i", "/next.deb")
	if s.show("MainPID") != pid || s.must("realmgate", "version") == "" || !strings.Contains(s.must("realmgate", "status", "-o", "json"), `"`+version+`.1"`) {
		s.t.Errorf("the version before still runs, or another process: %s", out)
	}
	close(asked)
	s.t.Logf("names were not answered for %s at most", <-gap)
	if len(over) > 0 {
		s.t.Error("the download was over before the upgrade: the test shows nothing")
	}
	close(web.upgraded)
	if got := <-over; got.error != nil || got.sum != <-web.sum {
		s.t.Errorf("the download: %v, %s", got.error, got.sum)
	}
	s.serves("after the upgrade")
}

// longestSilence asks for the name until it is told to end, and returns the longest time between two answers.
func (s *story) longestSilence(end chan struct{}) (longest time.Duration) {
	for last := time.Now(); ; {
		select {
		case <-end:
			return longest
		default:
		}
		if _, err := s.ask(); err == nil {
			longest = max(longest, time.Since(last))
			last = time.Now()
		}
	}
}

// A version that cannot take the data plane over leaves the one that runs alone, and says what a restart costs.
func (s *story) refuse() {
	s.t.Helper()
	put := s.otherLayout()
	pid := s.show("MainPID")
	out := s.must("dpkg", "-i", "/first.deb")
	put()
	if s.show("MainPID") != pid {
		s.t.Error("the gateway was restarted")
	}
	for _, want := range []string{"its tables are laid out otherwise: a restart with this version ends its sessions", "the version before goes on", "systemctl restart realmgate"} {
		if !strings.Contains(out, want) {
			s.t.Errorf("it does not say %q:\n%s", want, out)
		}
	}
	s.serves("after an upgrade that was refused")
}

// What a killed gateway has left is taken down, too.
func (s *story) remove() {
	s.t.Helper()
	s.must("systemctl", "kill", "--signal=KILL", "realmgate")
	s.must("systemctl", "stop", "realmgate")
	s.must("apt-get", "remove", "-y", "realmgate")
	if names, err := s.network.Attached(); err != nil || len(names) > 0 {
		s.t.Errorf("removed, programs are left at %v: %v", names, err)
	}
	s.must("apt-get", "purge", "-y", "realmgate")
	s.must("rm", configurationFile)
}
