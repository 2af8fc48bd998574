package repo

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const (
	conformancePage = "docs/conformance.md"
	notYet          = "not yet"
	declined        = "declined"
)

var (
	requirement = regexp.MustCompile(`^RFC (\d+) (REQ-(\d+)[a-z]?|§(\d+)(?:\.\d+)*)(?: .*)?$`)
	testName    = regexp.MustCompile(`^(?:Test|Fuzz)[A-Za-z0-9_]+$`)
	testFunc    = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)[A-Za-z0-9_]+)\(`)
	anyTest     = regexp.MustCompile(`\b(?:Test|Fuzz)[A-Z][A-Za-z0-9_]+`)
	defectTest  = regexp.MustCompile(`\bTestDefect\d+_[A-Za-z0-9_]+`)
	rfcTest     = regexp.MustCompile(`^TestRFC(\d+)_(?:REQ|S)(\d+)[a-z]?_`)
)

// numbered is how many requirements (or up to which section) each RFC has.
var numbered = []struct {
	rfc         string
	kind        string
	first, last int
}{
	{"4787", "REQ-", 1, 14},
	{"5382", "REQ-", 1, 10},
	{"5508", "REQ-", 1, 11},
	{"6888", "REQ-", 1, 15},
	{"7857", "§", 2, 12},
}

// protection is what the protection is held to: how rows begin, how their tests do, and how
// many there are.
var protection = []struct {
	row, prefix string
	last        int
}{
	{"geofence", "TestGeofenceDefect", 10},
	{"protection", "TestProtectionRule", 12},
}

// row is one line of the conformance page's tables.
type row struct {
	line        int
	requirement string
	tests       []string // empty for "not yet" and "declined"
	note        string
}

// rows reads the table lines that begin with an RFC.
func rows(page string) (parsed []row, problems []string) {
	for number, line := range strings.Split(page, "\n") {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		if !strings.HasPrefix(strings.TrimSpace(line), "|") || !strings.HasPrefix(cells[0], "RFC ") {
			continue
		}
		where := fmt.Sprintf("%s:%d", conformancePage, number+1)
		if len(cells) != 4 {
			problems = append(problems, fmt.Sprintf("%s: %d cells, want requirement, paraphrase, tests, note", where, len(cells)))
			continue
		}
		r := row{line: number + 1, requirement: cells[0], note: cells[3]}
		if cells[2] != notYet && cells[2] != declined {
			for name := range strings.SplitSeq(cells[2], ",") {
				r.tests = append(r.tests, strings.Trim(strings.TrimSpace(name), "`"))
			}
		}
		parsed = append(parsed, r)
	}
	return parsed, problems
}

// tests lists the names of all test and fuzz functions.
func tests(r tree) []string {
	var names []string
	for _, file := range r.match(suffix("_test.go")) {
		text, _ := r.read(file)
		for _, match := range testFunc.FindAllStringSubmatch(text, -1) {
			names = append(names, match[1])
		}
	}
	return names
}

func checkConformance(r tree) []string {
	page, ok := r.read(conformancePage)
	if !ok {
		return []string{conformancePage + ": missing"}
	}
	table, problems := rows(page)
	existing := tests(r)
	var named []string
	for _, row := range table {
		problems = append(problems, judge(row, existing)...)
		named = append(named, row.tests...)
	}
	for _, name := range existing {
		if rfcTest.MatchString(name) && !slices.Contains(named, name) {
			problems = append(problems, fmt.Sprintf("%s: does not name %s, which exists: put it in its row", conformancePage, name))
		}
	}
	problems = append(problems, checkDefects(page, existing)...)
	problems = append(problems, checkProtection(page, existing)...)
	return append(problems, absent(table)...)
}

// checkDefects wants the page to name the tests of defects that exist, and no
// others.
func checkDefects(page string, existing []string) []string {
	var problems []string
	named := defectTest.FindAllString(page, -1)
	for _, name := range named {
		if !slices.Contains(existing, name) {
			problems = append(problems, fmt.Sprintf("%s: names %s, which does not exist", conformancePage, name))
		}
	}
	for _, name := range existing {
		if defectTest.MatchString(name) && !slices.Contains(named, name) {
			problems = append(problems, fmt.Sprintf("%s: does not name %s, which exists: put it among the defects", conformancePage, name))
		}
	}
	return problems
}

// checkProtection wants a row for each defect and each rule of the protection, with a test
// of that number, and only tests that exist.
func checkProtection(page string, existing []string) []string {
	var problems []string
	say := func(format string, args ...any) {
		problems = append(problems, conformancePage+": "+fmt.Sprintf(format, args...))
	}
	for _, kind := range protection {
		for n := 1; n <= kind.last; n++ {
			_, line, found := strings.Cut(page, fmt.Sprintf("\n| %s %d |", kind.row, n))
			line, _, _ = strings.Cut(line, "\n")
			named := anyTest.FindAllString(line, -1)
			prefix := fmt.Sprintf("%s%d_", kind.prefix, n)
			if !found {
				say("no row for %s %d", kind.row, n)
				continue
			}
			if !slices.ContainsFunc(named, func(name string) bool { return strings.HasPrefix(name, prefix) }) {
				say("%s %d names no test %s…", kind.row, n, prefix)
			}
			for _, name := range named {
				if !slices.Contains(existing, name) {
					say("%s %d names %s, which does not exist", kind.row, n, name)
				}
			}
			for _, name := range existing {
				if strings.HasPrefix(name, prefix) && !slices.Contains(named, name) {
					say("%s %d does not name %s, which exists: put it in its row", kind.row, n, name)
				}
			}
		}
	}
	return problems
}

// judge looks at one row: the requirement reads as one, its tests exist and
// carry its number, and what is not built says why.
func judge(row row, existing []string) []string {
	var problems []string
	say := func(format string, args ...any) {
		problems = append(problems, fmt.Sprintf("%s:%d: ", conformancePage, row.line)+fmt.Sprintf(format, args...))
	}
	id := requirement.FindStringSubmatch(row.requirement)
	if id == nil {
		say("%q is no requirement: write RFC 4787 REQ-9a or RFC 7857 §2.1", row.requirement)
		return problems
	}
	if len(row.tests) == 0 && len(row.note) < 10 {
		say("%s is not built, and the note does not say why", row.requirement)
	}
	for _, name := range row.tests {
		switch carried := rfcTest.FindStringSubmatch(name); {
		case !testName.MatchString(name):
			say("%q is neither a test's name nor %q or %q", name, notYet, declined)
		case carried != nil && (carried[1] != id[1] || carried[2] != id[3]+id[4]):
			say("%s carries another number than %s", name, row.requirement)
		case !slices.Contains(existing, name):
			say("%s names %s, which does not exist: write it, or say %q and why", row.requirement, name, notYet)
		}
	}
	return problems
}

// absent lists the requirements that have no row.
func absent(table []row) []string {
	var problems []string
	for _, rfc := range numbered {
		for n := rfc.first; n <= rfc.last; n++ {
			want := fmt.Sprintf("RFC %s %s%d", rfc.rfc, rfc.kind, n)
			begins := regexp.MustCompile("^" + want + `([^0-9]|$)`)
			if !slices.ContainsFunc(table, func(r row) bool { return begins.MatchString(r.requirement) }) {
				problems = append(problems, conformancePage+": no row for "+want)
			}
		}
	}
	return problems
}

func TestConformance(t *testing.T) {
	t.Parallel()
	upholds(t, checkConformance)
}

func TestConformanceCanFail(t *testing.T) {
	t.Parallel()
	var full strings.Builder // every requirement, not built
	for _, rfc := range numbered {
		for n := rfc.first; n <= rfc.last; n++ {
			fmt.Fprintf(&full, "| RFC %s %s%d | words | not yet | because of reasons |\n", rfc.rfc, rfc.kind, n)
		}
	}
	guarded := "package x\n"
	for _, kind := range protection {
		for n := 1; n <= kind.last; n++ {
			fmt.Fprintf(&full, "\n| %s %d | words | %s%d_Holds |\n", kind.row, n, kind.prefix, n)
			guarded += fmt.Sprintf("func %s%d_Holds(t *testing.T) {}\n", kind.prefix, n)
		}
	}
	suite := "package x\nfunc TestRFC4787_REQ9_Hairpin(t *testing.T) {}\nfunc TestOther(t *testing.T) {}\n"
	good := "| RFC 4787 REQ-9a | loop back | `TestRFC4787_REQ9_Hairpin`, TestOther | |\n"
	rejects(t, checkConformance, nil, conformancePage+": missing")
	rejects(t, checkConformance, map[string]string{
		"test/y_test.go": guarded, conformancePage: full.String() + good, "test/x_test.go": suite + "func TestDefect5_Freed(t *testing.T) {}\n",
	}, "does not name TestDefect5_Freed")
	for _, c := range []struct {
		page string
		want []string
	}{
		{full.String() + good, nil},
		{full.String(), []string{"does not name TestRFC4787_REQ9_Hairpin"}},
		{full.String() + good + "| RFC 4787 REQ-9 | loop | TestGone | |\n", []string{"TestGone, which does not exist"}},
		{full.String() + good + "| RFC 4787 REQ-9 | loop | not yet | |\n", []string{"the note does not say why"}},
		{full.String() + good + "| RFC 4787 REQ-9 | loop | declined | |\n", []string{"the note does not say why"}},
		{full.String() + good + "| RFC 4787 REQ-9 | loop | soon | a long reason |\n", []string{`"soon" is neither`}},
		{full.String() + good + "| RFC 4787 loops | loop | TestOther | |\n", []string{"is no requirement"}},
		{full.String() + good + "| RFC 4787 REQ-9 | TestOther | |\n", []string{"3 cells"}},
		{full.String() + good + "| RFC 5382 REQ-9 | loop | TestRFC4787_REQ9_Hairpin | |\n", []string{"carries another number"}},
		{full.String() + good + "| 5 | nothing was freed | TestDefect5_Gone |\n", []string{"TestDefect5_Gone, which does not exist"}},
		{strings.Replace(full.String(), "geofence 10", "geofence 11", 1) + good, []string{"no row for geofence 10"}},
		{strings.Replace(full.String(), "| TestProtectionRule3_Holds |", "| TestProtectionRule3_Holds, TestGone |", 1) + good, []string{"protection 3 names TestGone, which does not exist"}},
		{strings.Replace(full.String(), "TestProtectionRule3_Holds", "TestOther", 1) + good, []string{"protection 3 names no test TestProtectionRule3_", "protection 3 does not name TestProtectionRule3_Holds"}},
		{strings.Replace(full.String(), "§7 ", "§70 ", 1) + good, []string{"no row for RFC 7857 §7"}},
	} {
		rejects(t, checkConformance, map[string]string{conformancePage: c.page, "test/x_test.go": suite, "test/y_test.go": guarded}, c.want...)
	}
}
