package jail

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// The page's own patterns are accepted, and it names each ready-made one.
func TestThePageTellsWhatIsThere(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../docs/reference/jail.md")
	if err != nil {
		t.Fatal(err)
	}
	patterns := regexp.MustCompile(`(?m)^\^.*<ADDRESS>.*$`).FindAllString(string(page), -1)
	if len(patterns) != 3 {
		t.Fatalf("%d patterns: %q", len(patterns), patterns)
	}
	for _, p := range patterns {
		mustCompile(t, p)
	}
	for _, name := range ReadyMade() {
		if !strings.Contains(string(page), "\n| `"+name+"` | ") {
			t.Errorf("%s is not in the table", name)
		}
	}
	dovecot := "Jan  2 15:04:05 mx dovecot: imap-login: Disconnected (auth failed, 1 attempts): user=<x, rip=203.0.113.1, lip=1>, method=PLAIN, rip=198.51.100.7, lip=192.0.2.1, TLS, session=<Zx1kq2>"
	if a, _ := mustCompile(t, patterns[0]).find([]byte(dovecot)); a.String() != "198.51.100.7" {
		t.Errorf("%v in %s", a, dovecot)
	}
	closed := "Nov 22 19:54:40 gw sshd[26441]: Connection closed by authenticating user x 203.0.113.1 port 1 [preauth] 198.51.100.7 port 56752 [preauth]"
	if a, _ := mustCompile(t, patterns[2]).find([]byte(closed)); a.String() != "198.51.100.7" {
		t.Errorf("%v in %s", a, closed)
	}
}
