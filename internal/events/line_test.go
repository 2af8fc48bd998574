package events

import (
	"encoding/json"
	"errors"
	"net/netip"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/events/event"
)

func TestLine(t *testing.T) {
	at := time.Date(2026, 3, 1, 13, 0, 0, 7_999_999, time.FixedZone("", 3600))
	for want, e := range map[string]event.Event{
		`{"time":"2026-03-01T12:00:00.007Z","kind":"stop","instance":"a","sequence":4,"lost":2}`: event.Stop{},
		`{"time":"2026-03-01T12:00:00.007Z","kind":"ban","instance":"a","sequence":4,"lost":2,"prefixes":["203.0.113.7/32"],"count":1,` +
			`"until":"2026-03-01T12:00:00Z","reason":"<\"\n\u001b>"}`: event.Ban{
			Prefixes: []netip.Prefix{netip.MustParsePrefix("203.0.113.7/32")}, Count: 1, Until: at.UTC().Truncate(time.Second), Reason: "<\"\n\x1b>"},
	} {
		r := record{at, "a", 4, e}
		if got, err := r.line(2); err != nil || string(got) != want || !json.Valid(got) {
			t.Errorf("%s %v\nwant %s", got, err, want)
		}
	}
}

// rsyslog takes 8 KiB of a message. No reason of a ban is as long as this one.
func TestTheLongestBanIsALineForSyslog(t *testing.T) {
	e := event.Ban{Count: event.MostNamed, Until: time.Now().UTC(), Reason: strings.Repeat("x", 1024)}
	for range event.MostNamed {
		e.Prefixes = append(e.Prefixes, netip.MustParsePrefix("2001:1db8:1111:1111:1111:1111:1111:1111/128"))
	}
	r := record{time.Now(), strings.Repeat("i", 64), 1 << 60, e}
	if line, err := r.line(1 << 60); err != nil || len(line) >= 8<<10 {
		t.Errorf("%d bytes, %v", len(line), err)
	}
}

func TestTextIsBounded(t *testing.T) {
	long := strings.Repeat("ä", 1000)
	if got := event.Text(errors.New(long)); got != long[:1024]+" … and 976 bytes more" {
		t.Errorf("%q", got)
	}
	if got := event.Text(errors.New("x" + long)); got != "x"+long[:1022]+" … and 977 bytes more" {
		t.Errorf("cut in a character: %q", got)
	}
	if event.Text(nil) != "" || event.Text(errors.New("a\xffb")) != "a?b" {
		t.Error("another text")
	}
}

const reference = "../../docs/reference/events.md"

var fieldRow = regexp.MustCompile("(?m)^\\| `([a-z]+)` \\| ([a-z ]+) \\| [A-Z`].{5,} \\|$")

// schemaOf lists the fields of a struct, as "name type".
func schemaOf(value any) (fields []string) {
	t := reflect.TypeOf(value)
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		kind := map[reflect.Kind]string{
			reflect.String: "text", reflect.Bool: "boolean", reflect.Slice: "list of text", reflect.Struct: "text", // a time
			reflect.Int: "number", reflect.Uint16: "number", reflect.Uint32: "number", reflect.Uint64: "number",
		}[f.Type.Kind()]
		fields = append(fields, name+" "+kind)
	}
	return fields
}

// undocumented lists the headings whose tables are not as the code has it.
func undocumented(page string) (wrong []string) {
	sections := map[string]string{}
	for _, s := range regexp.MustCompile("(?m)^##+ ").Split(page, -1) {
		heading, text, _ := strings.Cut(s, "\n")
		sections[heading] = text
	}
	check := func(heading string, value any) {
		var rows []string
		for _, m := range fieldRow.FindAllStringSubmatch(sections[heading], -1) {
			rows = append(rows, m[1]+" "+m[2])
		}
		if _, found := sections[heading]; !found || !reflect.DeepEqual(rows, schemaOf(value)) {
			wrong = append(wrong, heading)
		}
	}
	check("Every event", header{})
	for _, e := range event.All() {
		check(e.Kind().String(), e)
	}
	return wrong
}

// The reference has each kind with just its fields, in their order, and their types.
func TestReferenceMatchesEvents(t *testing.T) {
	text, err := os.ReadFile(reference)
	if err != nil {
		t.Fatal(err)
	}
	if wrong := undocumented(string(text)); len(wrong) > 0 {
		t.Errorf("%s does not say the truth of %v", reference, wrong)
	}
	for _, change := range [][2]string{{"| `lost` | number |", "| `lost` | text |"}, {"### stop\n", "### halt\n"}, {"| `refused` | number | ", "| `denied` | number | "}} {
		if bad := strings.Replace(string(text), change[0], change[1], 1); len(undocumented(bad)) != 1 {
			t.Errorf("with %q the comparison finds %v", change[1], undocumented(bad))
		}
	}
}
