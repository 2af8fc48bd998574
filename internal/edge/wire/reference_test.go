package wire

import (
	"encoding/json"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// page is the reference of messages, by the headings of its sections: the first column of their tables.
func page(t *testing.T) map[string][][2]string {
	t.Helper()
	text, err := os.ReadFile("../../../docs/reference/edges.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\| ([^|]*) \\|")
	sections := make(map[string][][2]string)
	for section := range strings.SplitSeq(string(text), "\n### ") {
		heading, rest, _ := strings.Cut(section, "\n")
		for _, row := range rows.FindAllStringSubmatch(rest, -1) {
			sections[strings.Trim(heading, "`")] = append(sections[strings.Trim(heading, "`")], [2]string{row[1], row[2]})
		}
	}
	return sections
}

// jsonOf is what a type of Go is in JSON.
func jsonOf(t reflect.Type) string {
	_, isText := t.MethodByName("MarshalText")
	switch {
	case isText || t.Kind() == reflect.String:
		return "string"
	case t.Kind() == reflect.Pointer:
		return jsonOf(t.Elem())
	case t.Kind() == reflect.Struct:
		return "object"
	case t.Kind() == reflect.Slice || t.Kind() == reflect.Array:
		return "list"
	case t.Kind() == reflect.Bool:
		return "boolean"
	}
	return "number"
}

func fieldsOf(t reflect.Type) (fields [][2]string) {
	for i := range t.NumField() {
		if name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ","); name != "-" {
			fields = append(fields, [2]string{name, jsonOf(t.Field(i).Type)})
		}
	}
	return fields
}

// The reference names each message with each of its fields, in order, and each reason.
func TestReferenceHasEachField(t *testing.T) {
	t.Parallel()
	sections := page(t)
	want := map[string]reflect.Type{"Pair": reflect.TypeFor[Pair](), "Locator": reflect.TypeFor[Locator](), "Terms": reflect.TypeFor[Terms](), "probed": reflect.TypeFor[probed]()}
	for _, m := range messages {
		if _, known := want[m.Type()]; !known {
			want[m.Type()] = reflect.TypeOf(m)
		}
	}
	for heading, is := range want {
		if got := sections[heading]; !slices.Equal(got, fieldsOf(is)) {
			t.Errorf("%s: the page has %v, the type %v", heading, got, fieldsOf(is))
		}
	}
	var reasons []Refusal
	for _, row := range sections["Reasons"] {
		reasons = append(reasons, Refusal(row[0]))
	}
	if !slices.Equal(reasons, Refusals) {
		t.Errorf("the page has the reasons %v, the type %v", reasons, Refusals)
	}
	if len(sections) != len(want)+1 {
		t.Errorf("the page has %d tables of fields and reasons, want %d", len(sections), len(want)+1)
	}
}

// The example of the reference is a message, and the bounds are those of the type.
func TestReferenceIsTrue(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../docs/reference/edges.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "```json\n")
	example, _, found := strings.Cut(rest, "\n```")
	if m, err := Decode([]byte(example)); !found || err != nil || m == nil {
		t.Errorf("the example is %v, %v", m, err)
	}
	if !json.Valid([]byte(example)) {
		t.Error("the example is no JSON")
	}
	for row, bound := range map[string][]any{
		"octets of a frame": {Most}, "objects and lists in each other": {Depth}, "zones, locators": {MostZones, MostLocators}, "pacts of one message": {MostPairs},
		"services of one set of terms": {MostServices, MostWord}, "words": {MostWord}, "texts for people": {MostText}, "leases": {int(MostHold)},
	} {
		_, rest, found := strings.Cut(string(text), "\n| "+row+" | ")
		said, _, _ := strings.Cut(rest, "\n")
		numbers := regexp.MustCompile(`\d+`).FindAllString(said, -1)
		for i, n := range bound {
			if text, _ := json.Marshal(n); !found || i >= len(numbers) || numbers[i] != string(text) {
				t.Errorf("%s: the page says %q, the type %v", row, said, bound)
			}
		}
	}
}
