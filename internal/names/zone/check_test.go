package zone

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/realmgate/realmgate/internal/model"
)

func TestCheck(t *testing.T) {
	pool := map[netip.Addr]bool{netip.MustParseAddr("198.18.0.32"): true, netip.MustParseAddr("198.18.0.33"): true}
	for _, test := range []struct {
		about, text string
		lent        string // names, with blanks between
		nameserver  model.Name
		secondaries bool
		want        string // "": no problem; every line of it is in the error
	}{
		{"nothing lent", school, "", "ns1.school.example.", true, ""},
		{"beside one another", school, "shop.school.example. *.shop.school.example. school.example.", "ns1.school.example.", false, ""},
		{"A", "\nshop A 192.0.2.1\n", "shop.school.example.", "ns1.school.example.", false,
			"school.zone:2: A of shop.school.example., which is lent by this realm"},
		{"AAAA", "a A 192.0.2.1\nSHOP AAAA 2001:db8::1\n", "shop.school.example.", "ns1.school.example.", false, "school.zone:2: AAAA of SHOP.school"},
		{"A of a lent wildcard", "*.shop A 192.0.2.1\n", "*.shop.school.example.", "ns1.school.example.", false, "school.zone:1: A of *.shop"},
		{"A below a lent wildcard", "x.shop A 192.0.2.1\n", "*.shop.school.example.", "ns1.school.example.", false, ""},
		{"A of a lent apex", "@ A 192.0.2.1\n", "school.example.", "ns1.school.example.", false, "school.zone:1: A of school.example."},
		{"MX and TXT of a lent name", "shop MX 1 shop\nshop TXT x\n", "shop.school.example.", "ns1.school.example.", false, ""},
		{"CNAME of a lent name", "shop CNAME a\n", "shop.school.example.", "ns1.school.example.", false, "school.zone:1: a CNAME of shop"},
		{"CNAME to a lent name", "www CNAME shop\n", "shop.school.example.", "ns1.school.example.", false, ""},
		{"all at once", "shop A 192.0.2.1\nwww A 192.0.2.1\n", "shop.school.example. www.school.example.", "ns1.school.example.", false,
			"school.zone:1: A of shop\nschool.zone:2: A of www"},
		{"lent below a delegation", "a A 192.0.2.1\nlab NS ns.example.net.\n", "www.lab.school.example.", "ns1.school.example.", false,
			"school.zone:2: the zone lab.school.example. is delegated, but www.lab"},
		{"server below a delegation", "lab NS ns1.lab\nns1.lab A 198.18.0.1\n", "", "ns1.lab.school.example.", false, "school.zone:1: the zone lab"},
		{"the server's own address", "ns1 A 198.18.0.1\n", "", "ns1.school.example.", false, ""},
		{"another address of the server", "ns1 A 198.18.0.2\n", "", "ns1.school.example.", false, "school.zone:1: ns1.school.example. is this server, whose address is 198.18.0.1"},
		{"the server's name is lent", "", "ns1.school.example.", "ns1.school.example.", false, "is the name server's name and is lent"},
		{"a server without an address", "@ NS ns2\n", "", "ns1.school.example.", false, "school.zone:1: the name server ns2.school.example. has no address"},
		{"a server with one", "@ NS ns2\nns2 AAAA 2001:db8::1\n", "", "ns1.school.example.", false, ""},
		{"a delegation's server without glue", "lab NS ns.lab\n", "", "ns1.school.example.", false, "school.zone:1: the name server ns.lab"},
		{"a delegation's server in another", "lab NS ns.x\nx NS ns.example.net.\n", "", "ns1.school.example.", false, ""},
		{"a server that is a CNAME", "@ NS ns2\nns2 CNAME a.example.net.\n", "", "ns1.school.example.", false, "school.zone:1: the name server ns2.school.example. is a CNAME"},
		{"a server that is lent", "@ NS shop\n", "shop.school.example.", "ns1.school.example.", false, "school.zone:1: the name server shop"},
		{"a hint", "shop HTTPS 1 . port=8443 ipv4hint=192.0.2.1\n", "shop.school.example.", "ns1.school.example.", false, "school.zone:1: HTTPS with ipv4hint for shop"},
		{"a hint for a target", "x SVCB 1 shop ipv6hint=2001:db8::1\n", "shop.school.example.", "ns1.school.example.", false, "school.zone:1: SVCB with ipv6hint for shop"},
		{"a hint for others", "x HTTPS 1 . ipv4hint=192.0.2.1\n", "shop.school.example.", "ns1.school.example.", false, ""},
		{"A of a pool address", "a A 192.0.2.1\ns A 198.18.0.33\n", "shop.school.example.", "ns1.school.example.", false,
			"school.zone:2: A of s.school.example. is 198.18.0.33, which is in pool.addresses"},
		{"A beside the pool", "s A 198.18.0.34\n", "shop.school.example.", "ns1.school.example.", false, ""},
		{"AAAA of a pool address", "s AAAA ::ffff:198.18.0.33\n", "", "ns1.school.example.", false, "school.zone:1: AAAA of s.school.example. is 198.18.0.33"},
		{"A of a wildcard", "*.s A 198.18.0.33\n", "", "ns1.school.example.", false, "school.zone:1: A of *.s.school.example. is 198.18.0.33"},
		{"glue", "lab NS ns.lab\nns.lab A 198.18.0.33\n", "", "ns1.school.example.", false, "school.zone:2: A of ns.lab.school.example. is 198.18.0.33"},
		{"A of the server, in the pool", "ns1 A 198.18.0.33\n", "", "ns1.school.example.", false, "school.zone:1: ns1.school.example. is this server"},
		{"A of a lent name, in the pool", "shop A 198.18.0.33\n", "shop.school.example.", "ns1.school.example.", false, "school.zone:1: A of shop.school.example., which is lent"},
		{"HTTPS with a hint of the pool", "x HTTPS 1 . ipv4hint=192.0.2.1,198.18.0.33,198.18.0.32\n", "", "ns1.school.example.", false,
			"school.zone:1: HTTPS of x.school.example. with ipv4hint=198.18.0.33, which is in pool.addresses"},
		{"SVCB with a hint of the pool", "\nx SVCB 1 else.example.net. ipv4hint=198.18.0.32\n", "", "ns1.school.example.", false,
			"school.zone:2: SVCB of x.school.example. with ipv4hint=198.18.0.32"},
		{"a hint beside the pool", "x HTTPS 1 . port=8443 ipv4hint=198.18.0.31\n", "", "ns1.school.example.", false, ""},
		{"a hint for a lent name, of the pool", "shop HTTPS 1 . ipv4hint=198.18.0.33\n", "shop.school.example.", "ns1.school.example.", false,
			"school.zone:1: HTTPS with ipv4hint for shop"},
		{"lent apex beside secondaries", "", "school.example.", "ns1.school.example.", true, "the apex school.example. is lent, and cannot be beside secondaries"},
		{"lent wildcard beside secondaries", "", "a.school.example. *.b.school.example.", "ns1.school.example.", true, "the wildcard *.b.school.example. is lent"},
	} {
		t.Run(test.about, func(t *testing.T) {
			realm := Realm{Nameserver: test.nameserver, Address: netip.MustParseAddr("198.18.0.1"), Secondaries: test.secondaries, Pool: pool}
			for name := range strings.FieldsSeq(test.lent) {
				realm.Lent = append(realm.Lent, model.Name(name))
			}
			err := Check(parse(t, test.text), "school.example.", realm)
			if test.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if err == nil {
				t.Fatal("no problem")
			}
			got, want := strings.Split(err.Error(), "\n"), strings.Split(test.want, "\n")
			if len(got) != len(want) {
				t.Errorf("got %q", got)
			}
			for i := range min(len(got), len(want)) {
				if !strings.Contains(got[i], want[i]) {
					t.Errorf("got %q, want %q", got[i], want[i])
				}
			}
		})
	}
}

func TestCheckWithoutFile(t *testing.T) {
	realm := Realm{Lent: []model.Name{"school.example.", "*.school.example.", "a.school.example."}, Nameserver: "ns.example.net.", Secondaries: true}
	if err := Check(nil, "school.example.", realm); err == nil || strings.Count(err.Error(), "\n") != 1 {
		t.Errorf("got %v", err)
	}
	realm.Secondaries = false
	if err := Check(nil, "school.example.", realm); err != nil {
		t.Error(err)
	}
}

// A web name is the realm's as a lent one is, but secondaries hold it wherever it is.
func TestCheckWebNames(t *testing.T) {
	realm := Realm{Web: []model.Name{"school.example.", "*.school.example.", "shop.school.example."}, Nameserver: "ns.example.net.", Secondaries: true}
	if err := Check(parse(t, "shop MX 1 a\nwww CNAME shop\na A 192.0.2.1\n"), "school.example.", realm); err != nil {
		t.Errorf("got %v", err)
	}
	for text, want := range map[string]string{
		"shop A 192.0.2.1\n":                  "school.zone:1: A of shop.school.example., which is at a web address of this realm: leave the record out",
		"@ AAAA 2001:db8::1\n":                "school.zone:1: AAAA of school.example., which is at a web address",
		"shop CNAME a\n":                      "school.zone:1: a CNAME of shop",
		"@ NS shop\n":                         "school.zone:1: the name server shop.school.example. is at a web address of this realm",
		"shop HTTPS 1 . ipv4hint=192.0.2.1\n": "school.zone:1: HTTPS with ipv4hint for shop.school.example., which is at a web address",
		"shop NS ns.example.net.\n":           "school.zone:1: the zone shop.school.example. is delegated, but shop.school.example.",
	} {
		if err := Check(parse(t, text), "school.example.", realm); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
