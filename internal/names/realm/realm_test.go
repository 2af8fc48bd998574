package realm

import (
	"testing"

	"github.com/realmgate/realmgate/internal/config"
	"github.com/realmgate/realmgate/internal/model"
)

const text = `interfaces: {public: [eth0], private: [eth1]}
realm: {zones: [foo.example.], nameserver: ns.foo.example.}
dns: {public: 198.18.0.1, private: 10.0.0.1}
pool: {addresses: [198.18.0.32/28]}
hosts:
  - name: hosta.foo.example.
    address: 10.0.0.100
    services: [{name: www.hosta.foo.example., protocol: tcp, port: 80, to: 8080}]
`

// Names whose hashes are equal are told apart all the same.
func TestNamesHaveNumbersOfTheirOwn(t *testing.T) {
	const a, b = "www.h882163d4.foo.example.", "www.hc6b7575c.foo.example."
	if nameNumber(a) != nameNumber(b) {
		t.Fatal("their hashes differ: the test shows nothing")
	}
	d, err := config.NewDocument("test.yaml", []byte(text+"  - {name: "+a+", address: 10.0.0.101}\n  - {name: "+b+", address: 10.0.0.102}\n"))
	if err != nil {
		t.Fatal(err)
	}
	r, err := New(d, d.Config.Web.Addresses)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []model.Name{a, b, "hosta.foo.example.", "www.hosta.foo.example."} {
		if got := r.Name(r.Number(name)); got != name {
			t.Errorf("%s is listed as %q", name, got)
		}
	}
}
