package packages

import (
	"os"
	"strings"
	"testing"

	"github.com/realmgate/realmgate/internal/lab/netns"
	"github.com/realmgate/realmgate/test/lab"
)

// What the guide backs up on a gateway that runs, it restores on an empty machine: there its services have the addresses that they
// had, whom it had banned is banned, and a token that it gave lets in.
func TestBackup(t *testing.T) {
	lab.LengthyOnly(t)
	t.Parallel()
	r := lab.NewRealm(t, netns.Options{Prefix: "backup", Hosts: 1, Clients: 1})
	serve(t, r.Hosts()[0])
	guide := pageOf(t, "backup.md")
	s := story{newMachine(t, r.Gateway, bookworm.archive(t)), r.Gateway, r.Clients[0]}
	s.deb(built(t, "*_amd64.deb"), "/first.deb")
	s.must("dpkg", "-i", "/first.deb")
	const more = "}, {name: two.foo.example., ports: [tcp/80:8081]}, {name: three.foo.example., ports: [tcp/80:8082]}]"
	s.put([]byte(strings.Replace(configuration(r.Gateway), "}]", more, 1)), configurationFile)
	s.must("install", "-d", "/etc/realmgate.d")
	s.put([]byte("api: {listen: [\"127.0.0.1:9470\"]}\n"), "/etc/realmgate.d/api.yaml")
	s.must("systemctl", "start", "realmgate")
	s.must("realmgate", "ban", "add", "203.0.113.9")
	token := s.must("sh", "-c", "realmgate token create reader --role read --for 1d 2>/dev/null")
	before := map[string]string{}
	for _, name := range []string{"www", "two", "three"} {
		before[name] = s.lent(name)
	}
	s.does(guide.next("tar -czf"))
	backup, err := os.ReadFile(s.root + "/srv/realmgate.tar.gz")
	if err != nil {
		t.Fatal(err)
	}
	s.must("systemctl", "disable", "--now", "realmgate")
	s.end()

	s.machine = newMachine(t, r.Gateway, bookworm.archive(t))
	s.deb(built(t, "*_amd64.deb"), "/srv/realmgate_1.0.0-1_amd64.deb")
	s.put(backup, "/srv/realmgate.tar.gz")
	s.does(guide.next("tar -xzpf"))
	guide.end()
	s.serves("restored")
	for name, address := range before {
		if now := s.lent(name); now != address {
			t.Errorf("%s had %s, and has %s", name, address, now)
		}
	}
	s.says("realmgate ban list", "203.0.113.9")
	status, err := r.Gateway.Command(t.Context(), "curl", "-sS", "--fail", "-H", "Authorization: Bearer "+token, "http://127.0.0.1:9470/v1/status").CombinedOutput()
	if err != nil || !strings.Contains(string(status), version) {
		t.Errorf("by the token from before: %v: %.300s", err, status)
	}
}

// lent is the address that a service's name has.
func (s *story) lent(name string) string {
	s.t.Helper()
	out, err := s.client.Command(s.t.Context(), "dig", "+tcp", "+short", "+time=2", "@"+s.network.PublicAddress.String(), name+".foo.example").Output()
	if err != nil || len(out) == 0 {
		s.t.Fatalf("%s: %q, %v", name, out, err)
	}
	return strings.TrimSpace(string(out))
}
