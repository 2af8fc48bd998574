package nameserver

import (
	"context"
	"net"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"
)

var blanks = regexp.MustCompile(`[ \t]+`)

// dig runs the real dig and returns what it prints.
func dig(t *testing.T, address string, arguments ...string) string {
	t.Helper()
	if _, err := exec.LookPath("dig"); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("dig is not installed: install dnsutils")
		}
		t.Skip("dig is not installed: install dnsutils")
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	arguments = append([]string{"@" + host, "-p", port, "+time=5", "+tries=1"}, arguments...)
	output, err := exec.CommandContext(ctx, "dig", arguments...).CombinedOutput()
	if err != nil {
		t.Fatalf("dig %v: %v\n%s", arguments, err, output)
	}
	return blanks.ReplaceAllString(string(output), " ")
}

func TestDigOutside(t *testing.T) {
	server, allocator := newPublic(t, nil)
	address := start(t, server)
	for _, test := range []struct {
		arguments string
		want      []string
		no        string
	}{
		// dig asks over UDP first and follows TC=1 to TCP by itself.
		{"hosta.foo.example A", []string{";; Truncated, retrying in TCP mode", "hosta.foo.example. 0 IN A 198.18.0.33", "flags: qr aa rd;"}, ";; Warning: Message parser"},
		{"foo.example SOA", []string{"hostmaster.foo.example. 7", "ANSWER: 1"}, "WARNING: Messages has"},
		{"+notcp +ignore foo.example NS", []string{"flags: qr aa tc rd;", "ANSWER: 0"}, "ns.foo.example"},
		{"+tcp foo.example NS", []string{"foo.example. 3600 IN NS ns.foo.example.", "ns.foo.example. 3600 IN A 198.18.0.1"}, ""},
		{"+tcp WWW.hosta.Foo.example SRV", []string{"WWW.hosta.Foo.example. 60 IN SRV 0 0 80 WWW.hosta.Foo.example."}, ""},
		{"+tcp nobody.foo.example A", []string{"status: NXDOMAIN", "IN SOA ns.foo.example."}, ""},
		{"example.net A", []string{"status: REFUSED"}, ";; Truncated"},
		{"foo.example AXFR", []string{"; Transfer failed."}, ""},
		{"version.bind CH TXT", []string{"status: REFUSED"}, ""},
		{"+edns=1 +noednsnegotiation hosta.foo.example A", []string{"status: BADVERS", "EDNS: version: 0"}, ""},
		{"+tcp +bufsize=4096 +dnssec hosta.foo.example ANY", []string{`"RFC8482"`, "flags: do; udp: 1232"}, ""},
		{"+tcp +keepopen hosta.foo.example A www.hosta.foo.example A foo.example SOA",
			[]string{"hosta.foo.example. 0 IN A", "www.hosta.foo.example. 0 IN A", "hostmaster"}, ""},
	} {
		t.Run(test.arguments, func(t *testing.T) {
			output := dig(t, address, strings.Fields(test.arguments)...)
			for _, want := range test.want {
				if !strings.Contains(output, want) {
					t.Errorf("no %q in\n%s", want, output)
				}
			}
			if test.no != "" && strings.Contains(output, test.no) {
				t.Errorf("%q in\n%s", test.no, output)
			}
		})
	}
	for _, question := range allocator.questions() {
		if question.Transport != TCP {
			t.Errorf("allocated over %s", question.Transport)
		}
	}
}

func TestDigStatic(t *testing.T) {
	server, _ := newPublic(t, func(o *PublicOptions) { o.Zones, o.Directory = fooZones(t), mixed })
	address := start(t, server)
	for arguments, want := range map[string]string{
		"+notcp foo.example MX":           "foo.example. 300 IN MX 10 mail.foo.example.",
		"+notcp +norec x.lab.foo.example": "AUTHORITY: 2, ADDITIONAL: 2",
		"www.foo.example":                 "www.foo.example. 300 IN CNAME shop.foo.example.\nshop.foo.example. 0 IN A 198.18.0.33",
		"+tcp foo.example A":              "(good)", // dig learns a cookie, and says so
		"+notcp nobody.foo.example":       "status: NXDOMAIN",
	} {
		if got := dig(t, address, strings.Fields(arguments)...); !strings.Contains(got, want) || strings.Contains(got, "Malformed") {
			t.Errorf("dig %s: no %q in\n%s", arguments, want, got)
		}
	}
}

func TestDigInside(t *testing.T) {
	_, address := forwarding(t, upstreamServer(t, answerWith(wwwNet)))
	for arguments, want := range map[string]string{
		"+short www.hosta.foo.example": "10.0.0.100\n",
		"+short -x 10.0.0.100":         "hosta.foo.example.\n",
		"+short www.example.net":       "192.0.2.80\n",
		"+short +tcp www.example.net":  "192.0.2.80\n",
	} {
		if got := dig(t, address, strings.Fields(arguments)...); got != want {
			t.Errorf("dig %s: %q, want %q", arguments, got, want)
		}
	}
}
