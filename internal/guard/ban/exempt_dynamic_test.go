package ban

import (
	"net/netip"
	"testing"

	"github.com/realmgate/realmgate/internal/config"
)

// Where hosts register themselves nobody is banned: a ban is of the remote end.
func TestPrefixesOfDynamicHostsAreExempt(t *testing.T) {
	t.Parallel()
	d, err := config.NewDocument("test.yaml", []byte(`interfaces: {public: [eth0], private: [eth1]}
realm: {zones: [foo.example.], nameserver: ns.foo.example.}
dns: {public: 198.18.0.1, private: 10.0.0.1}
pool: {addresses: [198.18.0.32/28]}
dynamic: [{zone: foo.example., kea: leases, prefixes: [10.9.0.0/24]}]
`))
	if err != nil {
		t.Fatal(err)
	}
	if got := ExemptOf(Allowed{}, Around{Config: d.Config}).Reasons[netip.MustParsePrefix("10.9.0.0/24")]; got == "" {
		t.Error("hosts that register themselves may be banned")
	}
}
