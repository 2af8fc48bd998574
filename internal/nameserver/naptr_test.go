package nameserver

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/miekg/dns"

	"github.com/realmgate/realmgate/internal/model"
)

// A label that no application service may be called by has no NAPTR record.
func TestNAPTRTags(t *testing.T) {
	t.Parallel()
	e := Entry{Address: netip.MustParseAddr("10.0.0.1"), Ports: []model.Port{{Protocol: model.TCP, Port: 80, To: 80}}}
	for label, service := range map[string]string{
		"www": "x-www:x-tcp", "a-1": "x-a-1:x-tcp", strings.Repeat("a", 30): "x-" + strings.Repeat("a", 30) + ":x-tcp",
		strings.Repeat("a", 31): "", "_ldap": "", "-a": "", `a\.b`: "", "*": "",
	} {
		got := ""
		if rr, ok := pointerRecord(&search{authority: &authority{}, owner: label + ".foo.example."}, e).(*dns.NAPTR); ok {
			got = rr.Service
		}
		if got != service {
			t.Errorf("%s: %q, want %q", label, got, service)
		}
	}
	if rr := pointerRecord(&search{authority: &authority{}, owner: "."}, e); rr != nil {
		t.Errorf("the root: %v", rr)
	}
}
