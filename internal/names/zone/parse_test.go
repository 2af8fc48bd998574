package zone

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/miekg/dns"
)

const school = `$TTL 1h
@	SOA	ns1 hostmaster (
		2026010100 ; serial
		1h 10m 1d 5m )
	NS	ns2.example.net.
	MX	10 mail
	TXT	"v=spf1 mx -all"
	CAA	0 issue "letsencrypt.org"
; a comment, and a line of nothing

mail	300	A	198.18.0.9
mail	60	A	198.18.0.10
	AAAA	2001:db8::9
Www.Old	CNAME	shop
_sip._tcp	SRV	0 5 5060 mail
My\032Printer._ipp._tcp TXT "a b"
*.dyn	TXT	"dyn"
lab	NS	ns.lab
	DS	1 8 2 0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
ns.lab	A	198.18.0.20
$GENERATE 1-3 g$ A 198.18.1.$
mail	300	A	198.18.0.9
`

func parse(t testing.TB, text string) *Zone {
	t.Helper()
	z, err := Parse(strings.NewReader(text), "school.example.", "school.zone")
	if err != nil {
		t.Fatal(err)
	}
	return z
}

func texts(records []dns.RR) []string {
	var lines []string
	for _, rr := range records {
		lines = append(lines, strings.ReplaceAll(rr.String(), "\t", " "))
	}
	return lines
}

func TestParse(t *testing.T) {
	z := parse(t, school)
	if z.Name() != "school.example." || z.SOA().Serial != 2026010100 || z.SOA().Minttl != 300 {
		t.Errorf("%s %v", z.Name(), z.SOA())
	}
	for _, test := range []struct {
		name   string
		rrtype uint16
		want   []string
	}{
		{"school.example.", dns.TypeMX, []string{"school.example. 3600 IN MX 10 mail.school.example."}},
		{"mail.school.example.", dns.TypeA, []string{"mail.school.example. 60 IN A 198.18.0.9", "mail.school.example. 60 IN A 198.18.0.10"}},
		{"mail.school.example.", dns.TypeAAAA, []string{"mail.school.example. 60 IN AAAA 2001:db8::9"}},
		{"www.old.school.example.", dns.TypeCNAME, []string{"Www.Old.school.example. 60 IN CNAME shop.school.example."}},
		{`my\ printer._ipp._tcp.school.example.`, dns.TypeTXT, []string{`My\ Printer._ipp._tcp.school.example. 60 IN TXT "a b"`}},
		{"*.dyn.school.example.", dns.TypeTXT, []string{`*.dyn.school.example. 60 IN TXT "dyn"`}},
		{"g2.school.example.", dns.TypeA, []string{"g2.school.example. 60 IN A 198.18.1.2"}},
		{"mail.school.example.", dns.TypeTXT, nil},
	} {
		got := texts(z.Node(test.name).Set(test.rrtype))
		for i := range got { // $TTL holds for records without one
			got[i] = strings.Replace(got[i], " 3600 IN", " 60 IN", 1)
		}
		for i := range test.want {
			test.want[i] = strings.Replace(test.want[i], " 3600 IN", " 60 IN", 1)
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s %s: %q, want %q", test.name, dns.Type(test.rrtype), got, test.want)
		}
	}
	for name, exists := range map[string]bool{"old.school.example.": true, "_ipp._tcp.school.example.": true, "dyn.school.example.": true, "nobody.school.example.": false, "example.": false} {
		if node := z.Node(name); (node != nil) != exists || !node.Empty() {
			t.Errorf("%s exists: %v", name, node != nil)
		}
	}
	for name, want := range map[string]string{"lab.school.example.": "lab.school.example.", "a.b.lab.school.example.": "lab.school.example.", "school.example.": "", "mail.school.example.": "", "lab.example.": ""} {
		if cut, servers, ok := z.Cut(name); cut != want || ok != (want != "") || ok && len(servers) != 1 {
			t.Errorf("%s: cut %q %v", name, cut, servers)
		}
	}
	if got := texts(z.Addresses("mail.school.example.")); len(got) != 3 {
		t.Errorf("addresses: %q", got)
	}
	if n := len(slices.Collect(z.Records())); n != 17 {
		t.Errorf("%d records", n)
	}
}

func TestNoZoneIsEmpty(t *testing.T) {
	var z *Zone
	if _, _, ok := z.Cut("a."); ok || z.Node("a.") != nil || z.SOA() != nil || z.Name() != "" || z.Addresses("a.") != nil || len(slices.Collect(z.Records())) != 0 {
		t.Error("a zone without a file has something")
	}
}

func TestProblemsHaveLines(t *testing.T) {
	for _, test := range []struct {
		about, text string
		line        int
		want        string
	}{
		{"syntax", "\n\nwww A 1.2.3\n", 3, "bad A"},
		{"no type", "www\n", 1, "no blank"},
		{"unknown type", "a A 192.0.2.1\nwww FOO bar\n", 2, "FOO"},
		{"without a name", "$TTL 60\n A 192.0.2.1\n", 2, "without a name"},
		{"without data", "www A\n", 1, "A without data"},
		{"the last line without an end", "a A 192.0.2.1\nwww A", 2, "not a TTL"},
		{"unclosed bracket", "@ TXT ( \"a\"\n", 1, "unbalanced brace"},
		{"include", "$INCLUDE /etc/passwd\n", 1, "$INCLUDE directive not allowed"},
		{"another zone", "a A 192.0.2.1\nwww.example.net. A 192.0.2.1\n", 2, "not in the zone school.example."},
		{"a name that ends alike", "preschool.example. A 192.0.2.1\n", 1, "not in the zone"},
		{"class", "www CH A 192.0.2.1\n", 1, "class CH"},
		{"second SOA", "@ SOA a b 1 2 3 4 5\n@ SOA a b 1 2 3 4 5\n", 2, "a second SOA"},
		{"SOA below", "www SOA a b 1 2 3 4 5\n", 1, "only the zone school.example. has one"},
		{"CNAME and others", "www A 192.0.2.1\n; note\nwww CNAME a\n", 3, "has a CNAME and other records"},
		{"two CNAMEs", "www CNAME a\nwww CNAME b\n", 1, "several CNAMEs"},
		{"CNAME at the apex", "@ CNAME a\n", 1, "apex"},
		{"DNAME", "www DNAME example.net.\n", 1, "DNAME is not served"},
		{"DNSSEC", "@ NSEC a A\n", 1, "not signed"},
		{"meta type", "@ TYPE250 \\# 1 00\n", 1, "no type of a record"},
		{"DS at no delegation", "www DS 1 8 2 00\n", 1, "no zone is delegated"},
		{"hidden by a delegation", "lab NS ns.example.net.\nwww.lab TXT x\n", 2, "in the zone lab.school.example., which is delegated"},
		{"hidden at a delegation", "lab NS ns.example.net.\nlab MX 1 a\n", 2, "which is delegated"},
		{"delegated wildcard", "*.lab NS ns.example.net.\n", 1, "wildcard"},
		{"too many", "$GENERATE 1-65535 g$ A 192.0.2.1\n$GENERATE 1-65535 h$ A 192.0.2.1\n", 2, "more than 65536 records"},
	} {
		t.Run(test.about, func(t *testing.T) {
			_, err := Parse(strings.NewReader(test.text), "school.example.", "school.zone")
			var problem *Problem
			if !errors.As(err, &problem) || problem.Line != test.line || problem.File != "school.zone" || !strings.Contains(problem.Text, test.want) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add(school)
	f.Add("a TYPE65280 \\# 2 abcd\n@ HTTPS 1 . port=8443 ipv4hint=192.0.2.1\n")
	f.Add("$ORIGIN x\n\\097\\.b A 192.0.2.1\n@ 1 IN TXT \\\"\n")
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(text, "$GENERATE") {
			return // the library's; bounded by maxRecords, but slow here
		}
		z, err := Parse(strings.NewReader(text), "school.example.", "school.zone")
		if err != nil {
			var problem *Problem
			if !errors.As(err, &problem) {
				t.Fatalf("%T: %v", err, err)
			}
			return
		}
		for rr := range z.Records() {
			name := dns.CanonicalName(rr.Header().Name)
			if !slices.Contains(z.Node(name).Set(rr.Header().Rrtype), rr) {
				t.Fatalf("%v is not at %q", rr, name)
			}
			for ; name != "school.example."; name = parent(name) {
				if z.Node(name) == nil {
					t.Fatalf("%v: nothing at %q", rr, name)
				}
			}
		}
	})
}
