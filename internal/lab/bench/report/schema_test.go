package report

import (
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/lab/bench"
	"github.com/realmgate/realmgate/internal/lab/bench/method"
)

const schemaPage = "../../../../docs/reference/bench-result.md"

// fields lists a type's JSON fields: a path and a kind each.
func fields(t reflect.Type, path string) (list []string) {
	row := func(kind string, below reflect.Type, suffix string) []string {
		var own []string
		if path != "" {
			own = []string{path + " | " + kind}
		}
		if below == nil {
			return own
		}
		return append(own, fields(below, path+suffix)...)
	}
	switch {
	case t == reflect.TypeFor[time.Time]():
		return row("string", nil, "")
	case t == reflect.TypeFor[method.Number]():
		return row("number", nil, "")
	}
	switch t.Kind() {
	case reflect.Struct:
		list = row("object", nil, "")
		for i := range t.NumField() {
			f := t.Field(i)
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			at := strings.TrimPrefix(path+"."+name, ".")
			if f.Anonymous {
				list = append(list, fields(f.Type, path)[1:]...)
			} else {
				list = append(list, fields(f.Type, at)...)
			}
		}
		return list
	case reflect.Slice, reflect.Array:
		return row("array", t.Elem(), "[]")
	case reflect.Map:
		return row("object", t.Elem(), "{}")
	case reflect.String:
		return row("string", nil, "")
	case reflect.Bool:
		return row("boolean", nil, "")
	default:
		return row("number", nil, "")
	}
}

var fieldRow = regexp.MustCompile("(?m)^\\| `([^`]+)` \\| ([a-z]+) \\| [A-Z`].+\\. \\|$")

func documented(page string) (list []string) {
	for _, cells := range fieldRow.FindAllStringSubmatch(page, -1) {
		list = append(list, cells[1]+" | "+cells[2])
	}
	return list
}

// unlikeLists says what only one of two lists has.
func unlikeLists(documented, actual []string) (list []string) {
	for _, row := range documented {
		if !slices.Contains(actual, row) {
			list = append(list, "the report has no "+row)
		}
	}
	for _, row := range actual {
		if !slices.Contains(documented, row) {
			list = append(list, "the page lacks "+row)
		}
	}
	return list
}

func TestSchemaIsDocumented(t *testing.T) {
	page, err := os.ReadFile(schemaPage)
	if err != nil {
		t.Fatal(err)
	}
	for _, difference := range unlikeLists(documented(string(page)), fields(reflect.TypeFor[bench.Report](), "")) {
		t.Error(difference)
	}
	if !strings.Contains(string(page), "`"+bench.Schema+"`") {
		t.Errorf("the page does not name the schema %s", bench.Schema)
	}
	for _, column := range columns {
		if !strings.Contains(string(page), "`"+column+"`") {
			t.Errorf("the page does not name the column %s of result.csv", column)
		}
	}
}

// Proof that the comparison can fail.
func TestSchemaComparisonFails(t *testing.T) {
	type inner struct {
		C float64 `json:"c"`
	}
	type outer struct {
		A string           `json:"a"`
		B map[string]inner `json:"b,omitempty"`
	}
	actual := fields(reflect.TypeFor[outer](), "")
	for page, want := range map[string]int{
		"| `a` | string | It. |\n| `b` | object | It. |\n| `b{}` | object | It. |\n| `b{}.c` | number | It. |\n":                         0,
		"| `a` | number | It. |\n| `b` | object | It. |\n| `b{}` | object | It. |\n| `b{}.c` | number | It. |\n":                         2,
		"| `a` | string | |\n| `b` | object | It. |\n| `b{}` | object | It. |\n| `b{}.c` | number | It. |\n":                             1,
		"| `a` | string | It. |\n| `b` | object | It. |\n| `b{}` | object | It. |\n| `b{}.c` | number | It. |\n| `d` | number | It. |\n": 1,
	} {
		if got := unlikeLists(documented(page), actual); len(got) != want {
			t.Errorf("%s: %q, want %d", page, got, want)
		}
	}
}
