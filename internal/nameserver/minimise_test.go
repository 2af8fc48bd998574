package nameserver

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/model"
)

const testZone = model.Name("foo.example.")

// story feeds questions to a table. A step is milliseconds since the last and a
// question: H is the host, W a service below it, D one two labels below it, G
// another host, X below G, A the host's alias; a small letter is one that is
// not verified. The verdicts follow as one character a step: y or n.
func story(t *testing.T, m *detector, now *model.Instant, from netip.Addr, steps string) string {
	t.Helper()
	kinds := map[string]observation{
		"H": {name: "h.foo.example.", host: true},
		"W": {name: "www.h.foo.example."},
		"D": {name: "a.b.h.foo.example."},
		"G": {name: "g.foo.example.", host: true},
		"X": {name: "x.g.foo.example."},
		"A": {name: "0123.foo.example.", alias: "h.foo.example."},
		"O": {name: "other.foo.example."},
		"N": {name: "b.h.foo.example.", host: true}, // a host below a host
	}
	var verdicts strings.Builder
	for step := range strings.FieldsSeq(steps) {
		wait, err := time.ParseDuration(step[:len(step)-1] + "ms")
		if err != nil {
			t.Fatal(err)
		}
		letter := step[len(step)-1:]
		s, ok := kinds[strings.ToUpper(letter)]
		if !ok {
			t.Fatalf("no question %s", letter)
		}
		s.asker, s.zone, s.verified = from, testZone, letter == strings.ToUpper(letter)
		*now = now.Add(wait)
		if m.observe(*now, s) {
			verdicts.WriteByte('y')
		} else {
			verdicts.WriteByte('n')
		}
	}
	return verdicts.String()
}

func newTestDetector(t testing.TB) *detector {
	t.Helper()
	m, err := newDetector()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestMinimiserEvidence(t *testing.T) {
	const proof = "0H 10W 0H 10W 0H 10W " // verdict nnnnny
	for _, test := range []struct{ about, steps, verdict string }{
		{"three in a row", proof + "0H", "y"},
		{"two are not enough", "0H 10W 0H 10W 0H", "n"},
		{"two labels below", "0H 10D 0H 10D 0H 10D 0H", "y"},
		{"different hosts", "0H 10W 0G 10X 0H 10W 0G", "y"},
		{"many under way at once", "0H 0G 10X 10W 0H 10W 0H", "y"},
		{"below another host", "0H 10X 0H 10X 0H 10X 0H", "n"},
		{"not below a host", "0H 10O 0H 10O 0H 10O 0H", "n"},
		{"a host below a host", "0H 5N 5D 0H 5N 5D 0H", "y"},
		{"one probe for two services is one", "0H 1W 1D 1W 1D 1W 1D 0H", "n"},
		{"just in time", "0H 100W 0H 100W 0H 100W 0H", "y"},
		{"just too late", "0H 101W 0H 101W 0H 101W 0H", "n"},
		{"too late is no evidence, but breaks no row", "0H 10W 0H 10W 0H 500W 0H 10W 0H", "y"},
		{"the service before the host", "0W 10H 2000W 10H 2000W 10H 2000W 10H", "n"},
		{"asked again, then followed", "0H 50H 60W 0H 10W 0H 10W 0H", "y"},
		{"nothing follows once", "0H 10W 0H 10W 0H 2000H 10W 0H", "n"},
		{"nothing follows for another host", "0H 10W 0H 10W 0G 1500H 10W 0H", "n"},
		{"just not nothing", "0H 10W 0H 10W 0G 1000X 0H 10W 0H", "y"},
		{"forged host questions prove nothing", "0h 10W 0h 10W 0h 10W 0H", "n"},
		{"forged services prove nothing", "0H 10w 0H 10w 0H 10w 0H", "n"},
		{"over UDP in time, over TCP later", "0H 90w 300W 0H 90w 300W 0H 90w 300W 0H", "y"},
		{"over UDP too late", "0H 110w 10W 0H 110w 10W 0H 110w 10W 0H", "n"},
		{"over UDP alone breaks no row", "0H 10W 0H 10W 0H 10w 2000H 10W 0H", "y"},
		{"forged host questions disprove nothing", proof + "0h 2000H", "y"},
		{"an alias in return keeps the proof", proof + "0H 10A 5000H", "y"},
		{"an alias over UDP keeps it too", proof + "0H 10a 5000H", "y"},
		{"an alias is no evidence", "0H 10A 0H 10A 0H 10A 0H", "n"},
		{"no alias in return takes the proof", proof + "0H 2000H", "n"},
		{"remembered nearly an hour", proof + "3599999H", "y"},
		{"forgotten after an hour", proof + "3600000H", "n"},
		{"evidence renews it", proof + "3000000H 10W 3000000H", "y"},
		{"forgotten means all of it", proof + "3600000H 10W 0H", "n"},
	} {
		t.Run(test.about, func(t *testing.T) {
			now := model.Instant(time.Hour)
			got := story(t, newTestDetector(t), &now, asker.Addr(), test.steps)
			if last := got[len(got)-1:]; last != test.verdict {
				t.Errorf("%s: %s, want %s at the end", test.steps, got, test.verdict)
			}
		})
	}
}

func TestMinimisersAreToldApart(t *testing.T) {
	m, now, other := newTestDetector(t), model.Instant(0), netip.MustParseAddr("198.51.100.8")
	story(t, m, &now, asker.Addr(), "0H 1W 0H 1W 0H 1W")
	if got := story(t, m, &now, other, "0H 1W 0H 1W 0H"); got != "nnnnn" {
		t.Errorf("another asker: %s", got)
	}
	for range 5 { // one's service does not follow the other's host
		story(t, m, &now, netip.MustParseAddr("198.51.100.10"), "0H")
		story(t, m, &now, netip.MustParseAddr("198.51.100.11"), "1W")
	}
	if got := story(t, m, &now, netip.MustParseAddr("198.51.100.10"), "0H"); got != "n" {
		t.Errorf("proven by another's questions: %s", got)
	}
}

func TestMinimiserTablesAreBounded(t *testing.T) {
	m, now := newTestDetector(t), model.Instant(0)
	story(t, m, &now, asker.Addr(), "0H 1W 0H 1W 0H 1W")
	from := netip.MustParseAddr("203.0.113.1")
	for range 3 * detectorOpen {
		from = from.Next()
		story(t, m, &now, from, "0H")
	}
	if m.askers.Len() > detectorAskers || m.open.Len() > detectorOpen {
		t.Errorf("%d askers and %d questions", m.askers.Len(), m.open.Len())
	}
	if got := story(t, m, &now, asker.Addr(), "0H"); got != "n" {
		t.Error("the oldest asker has not made room")
	}
	story(t, m, &now, from, "2000O")
	if m.open.Len() != 0 {
		t.Errorf("%d questions open after their time", m.open.Len())
	}
	if left, _ := m.askers.Peek(from); left.open != 0 {
		t.Errorf("%d questions of an asker open after their time", left.open)
	}
}
