package jail

import (
	"net/netip"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func mustCompile(t interface {
	Helper()
	Fatal(...any)
}, pattern string) *matcher {
	t.Helper()
	m, err := compile(pattern)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestPatternsThatCouldBeForgedAreRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ pattern, want string }{
		{`^app: login failed`, "<ADDRESS> is there 0 times"},
		{`^app: <ADDRESS> <ADDRESS>`, "<ADDRESS> is there 2 times"},
		{`app: <ADDRESS>`, "must begin with ^"},
		{`^app: <ADDRESS>|^`, "must begin with ^"},
		{`^.*app: <ADDRESS>`, "text of any form"},
		{`^(.+app): <ADDRESS>`, "text of any form"},
		{`^.{3,}app: <ADDRESS>`, "text of any form"},
		{`^app: ((<ADDRESS>))*`, "must not stand in"},
		{`^app: (from <ADDRESS>|none)`, "must not stand in"},
		{`^app: [x<ADDRESS>]`, "no regular expression"},
		{`^app: \Q<ADDRESS>\E`, "must not stand in"},
		{`^app: (?=x)<ADDRESS>`, "no regular expression"},
		{`^app: ` + strings.Repeat("x", longestPattern) + `<ADDRESS>`, "longer than"},
		{`^app: [a-z]{1000}<ADDRESS>`, "too large"},
		// Text of a stranger before the address, and an end that is open or another's.
		{`^app: user .* from <ADDRESS>`, `two places of a line like "app: user  from from 1"`},
		{`^app: user .* from <ADDRESS> .*$`, "two places"},
		{`^app: user .* rhost=<ADDRESS> user=.*$`, "two places"},
		{`^app: user .*<ADDRESS>$`, "two places"},
		{`^app: user \S+<ADDRESS>$`, "two places"},
		{`^app: (user )?(\w+ )*<ADDRESS> `, "two places"},
		// Is "x:1" an address after "x", or after "x:"?
		{`^app: x:?<ADDRESS>$`, "two places"},
		// The sign for kelvin is a k that is neither k nor K.
		{`^app: [^kK ]*(?i:k)<ADDRESS>$`, "two places"},
		{`^app: (?i)user .*K<ADDRESS>$`, "two places"},
	} {
		if _, err := compile(c.pattern); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.pattern, err, c.want)
		}
	}
}

func TestOnlyTheWholePlaceIsAnAddress(t *testing.T) {
	t.Parallel()
	const none = "none"
	for _, c := range []struct{ pattern, line, want string }{
		{`^a <ADDRESS>`, "a 203.0.113.7", "203.0.113.7"},
		{`^a <ADDRESS>`, "a 203.0.113.7 and more", "203.0.113.7"},
		{`^a <ADDRESS>`, "a 2001:db8::7", "2001:db8::7"},
		{`^a <ADDRESS>`, "a 2001:DB8:0:0::7", "2001:db8::7"},
		{`^a <ADDRESS>`, "a ::ffff:203.0.113.7", "203.0.113.7"},
		{`^a <ADDRESS>`, "a ::ffff:cb00:7107", "203.0.113.7"},
		{`^a \[<ADDRESS>\]:\d+$`, "a [2001:db8::7]:443", "2001:db8::7"},
		{`^a <ADDRESS>:\d+$`, "a 203.0.113.7:443", "203.0.113.7"},
		{`^a <ADDRESS>\.$`, "a 203.0.113.7.", "203.0.113.7"},
		{`^(?U)a <ADDRESS>`, "a 203.0.113.77", "203.0.113.77"},
		{`^(?i)A <ADDRESS>`, "a 203.0.113.7", "203.0.113.7"},
		{"^a\xef\xbf\xbdb <ADDRESS>", "a\xffb 203.0.113.7", "203.0.113.7"},
		{`^a .* <ADDRESS>$`, "a \x00\xff\xfe 203.0.113.7", "203.0.113.7"},
		{`^a <ADDRESS>`, "a 203.0.113.256", none},
		{`^a <ADDRESS>`, "a 203.0.113.07", none},
		{`^a <ADDRESS>`, "a 203.0.113.7.example.com", none},
		{`^a <ADDRESS>`, "a 203.0.113.7-x.example.com", none},
		{`^a <ADDRESS>`, "a 203.0.113.7:443", none},
		{`^a <ADDRESS>`, "a 203.0.113.0/24", "203.0.113.0"}, // what follows is the pattern's to say
		{`^a <ADDRESS>$`, "a 203.0.113.0/24", ""},
		{`^a <ADDRESS>`, "a fe80::1%eth0", none},
		{`^a <ADDRESS>`, "a UNKNOWN", none},
		{`^a <ADDRESS>`, "a " + strings.Repeat("1", 4000), none},
		{`^a <ADDRESS>`, "b a 203.0.113.7", ""},
		{`^a <ADDRESS>`, "a  203.0.113.7", ""},
		{`^a <ADDRESS>`, "", ""},
	} {
		a, matched := mustCompile(t, c.pattern).find([]byte(c.line))
		got := ""
		switch {
		case a.IsValid():
			got = a.String()
		case matched:
			got = none
		}
		if got != c.want {
			t.Errorf("%s finds %q in %.50q, want %q", c.pattern, got, c.line, c.want)
		}
	}
}

// Each place is a begin of the address in some reading of the line.
func places(before, after, line string) (list []int) {
	first, address := regexp.MustCompile(`^(?:`+before+`)$`), regexp.MustCompile(`^[0-9A-Za-z.:_%-]+$`)
	last := regexp.MustCompile(`^(?:` + after + `)`)
	for i := range len(line) {
		for j := i + 1; j <= len(line); j++ {
			if first.MatchString(line[:i]) && address.MatchString(line[i:j]) && last.MatchString(line[j:]) {
				list = append(list, i)
				break
			}
		}
	}
	return list
}

// The search for a line with two places is compared with a look at every place of lines.
func TestAnAcceptedPatternHasOnePlaceInEveryLine(t *testing.T) {
	t.Parallel()
	part := rapid.SampledFrom([]string{`a`, `1`, ` `, `from `, ` from`, `.*`, `.*?`, `[^ ]*`, `[^"]*`, `\d+`, `(?: a)*`, `a?`, `(?:1|1 from)`, `:?`, `[^ ]{0,2}`, `"`, `(?i:K)`})
	word := rapid.SampledFrom([]string{"a", "1", " ", "from ", " from ", `"`, ":", "k", "\u212a", "x"})
	accepted, refused := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		before := "x" + strings.Join(rapid.SliceOfN(part, 0, 5).Draw(t, "before"), "")
		after := strings.Join(rapid.SliceOfN(part, 0, 4).Draw(t, "after"), "") + rapid.SampledFrom([]string{"", "$"}).Draw(t, "end")
		_, err := compile("^" + before + Placeholder + after)
		if err != nil {
			_, like, is := strings.Cut(err.Error(), "of a line like ")
			if !is {
				t.Skip(err)
			}
			refused++
			quoted, _, _ := strings.Cut(like, ", so that")
			line := regexp.MustCompile(`^"(.*)"$`).FindStringSubmatch(strings.ReplaceAll(quoted, `\"`, `"`))[1]
			if n := len(places(before, after, line)); n < 2 {
				t.Fatalf("%s<ADDRESS>%s has %d places in %q", before, after, n, line)
			}
			return
		}
		accepted++
		line := "x" + strings.Join(rapid.SliceOfN(word, 1, 12).Draw(t, "line"), "")
		if list := places(before, after, line); len(list) > 1 {
			t.Fatalf("%s<ADDRESS>%s has places %v in %q", before, after, list, line)
		}
	})
	if accepted == 0 || refused == 0 {
		t.Errorf("%d patterns accepted, %d refused: one side was not tested", accepted, refused)
	}
}

// forgetful is whether what regular expressions allocate is chance.
var forgetful bool

func TestALineThatDoesNotMatchAllocatesNothing(t *testing.T) {
	if forgetful {
		t.Skip("with the race detector, how much is allocated is chance")
	}
	w := jail(t, ReadyMade()...)
	for _, line := range []string{
		"Jan  2 15:04:05 gw sshd[4711]: Accepted publickey for root from 203.0.113.7 port 4711 ssh2",
		"Jan  2 15:04:05 gw sshd[4711]: Failed none for invalid user x from 203.0.113.7 port 4711 ssh2",
		`203.0.113.7 - - [02/Jan/2026:15:04:05 +0000] "GET / HTTP/1.1" 200 1 "-" "-"`,
		strings.Repeat("x", LongestLine),
	} {
		b := []byte(line)
		if n := testing.AllocsPerRun(100, func() {
			if _, matched := w.match(b); matched {
				t.Error("matched", line)
			}
		}); n != 0 {
			t.Errorf("%v allocations for %.60s", n, line)
		}
	}
}

func jail(t testing.TB, patterns ...string) *Jail {
	t.Helper()
	w, err := Compile(Options{Name: "w", File: "/var/log/w", Patterns: patterns, MaxRetry: 3, FindTime: 600e9})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func FuzzFind(f *testing.F) {
	for _, s := range samples {
		f.Add([]byte(s.line))
	}
	w := jail(f, append(ReadyMade(), `^app: [^ ]* <ADDRESS>:\d+ `, `^app: .* by \[<ADDRESS>\]$`)...)
	f.Fuzz(func(t *testing.T, line []byte) {
		a, matched := w.match(line)
		if !matched && a.IsValid() {
			t.Fatalf("%v of no match", a)
		}
		if a.IsValid() && (a.Is4In6() || a.Zone() != "" || !hasAddress(string(line), a)) {
			t.Fatalf("%v is not in %q", a, line)
		}
	})
}

// hasAddress reports whether a text has an address, however it is written.
func hasAddress(text string, want netip.Addr) bool {
	for _, run := range regexp.MustCompile(`[0-9A-Fa-f.:]+`).FindAllString(text, -1) {
		for i := range len(run) {
			for j := i + 1; j <= min(len(run), i+longestAddress); j++ {
				if a, err := netip.ParseAddr(run[i:j]); err == nil && a.Unmap() == want {
					return true
				}
			}
		}
	}
	return false
}

// A pattern is the user's: none makes the program fail, and an accepted one works.
func FuzzCompile(f *testing.F) {
	for _, expressions := range readyMade {
		for _, e := range expressions {
			f.Add(e, "a 203.0.113.7")
		}
	}
	f.Add(`^a (?:b|\w+)* from <ADDRESS>`, "a from 203.0.113.7")
	f.Fuzz(func(t *testing.T, pattern, line string) {
		m, err := compile(pattern)
		if err != nil || strings.Contains(line, "\n") {
			return
		}
		_, literally := m.find([]byte(line))
		if matches := m.expression.MatchString(line); literally != matches {
			t.Fatalf("%q finds %v in %q, without its literal %q %v", pattern, literally, line, m.literal, matches)
		}
	})
}

func BenchmarkMatch(b *testing.B) {
	w := jail(b, "sshd")
	for name, line := range map[string]string{
		"other":   "Jan  2 15:04:05 gw CRON[4711]: pam_unix(cron:session): session opened for user root(uid=0) by (uid=0)",
		"failure": "Jan  2 15:04:05 gw sshd[4711]: Failed password for root from 198.51.100.7 port 40022 ssh2",
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			line := []byte(line)
			for b.Loop() {
				w.match(line)
			}
		})
	}
}
