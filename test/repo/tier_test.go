package repo

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const (
	tierScript = "tools/test.sh"
	tierHelper = "test/lab/lengthy.go"
	ciTurn     = 40 // minutes that CI has left for slow parts after make test and its installing
)

var (
	partMinutes = regexp.MustCompile(`\[([a-z0-9-]+)\]=(\d+)`)
	lengthyPart = regexp.MustCompile(`\[([a-z0-9-]+)\]='([^']*)'`)
	partRuns    = regexp.MustCompile(`(?m)^([a-z0-9-]+)_tests\(\) \{(.*)`)
	asksLengthy = regexp.MustCompile(`lab\.Lengthy(?:Only)?\(`)
	goFunction  = regexp.MustCompile(`(?ms)^func (\w+)\([^\n]*\{\n.*?^\}\n`)
)

// checkTiers wants each slow part to have its tests, a budget that a turn of CI has room for, and a place in
// the guide; and each test that asks test/lab whether it may take many minutes to run in a part that lets it.
func checkTiers(r tree) []string {
	script, ok := r.read(tierScript)
	if !ok {
		return []string{tierScript + ": missing"}
	}
	guide, _ := r.read(developing)
	minutes, runs := map[string]int{}, map[string]string{}
	for _, found := range partMinutes.FindAllStringSubmatch(assignment(script, "minutes"), -1) {
		minutes[found[1]], _ = strconv.Atoi(found[2]) // digits
	}
	for _, found := range partRuns.FindAllStringSubmatch(script, -1) {
		runs[found[1]] = found[2]
	}
	slow := strings.Fields(assignment(script, "slow"))
	var problems []string
	for _, part := range slow {
		if n := minutes[part]; n == 0 || n > ciTurn {
			problems = append(problems, fmt.Sprintf("%s: part %s has %d minutes; give it 1 to %d, or divide it", tierScript, part, n, ciTurn))
		}
		if _, ok := runs[part]; !ok {
			problems = append(problems, fmt.Sprintf("%s: part %s runs nothing", tierScript, part))
		}
		if !strings.Contains(guide, "`"+part+"`") {
			problems = append(problems, fmt.Sprintf("%s: part %s is not told of", developing, part))
		}
	}
	asking, strays := askingTests(r)
	problems = append(problems, strays...)
	for _, found := range lengthyPart.FindAllStringSubmatch(assignment(script, "lengthy"), -1) {
		part := found[1]
		if !slices.Contains(slow, part) {
			problems = append(problems, fmt.Sprintf("%s: lengthy %s is no slow part", tierScript, part))
		}
		for name := range strings.SplitSeq(found[2], "|") {
			if folder, ok := asking["Test"+name]; !ok || !strings.Contains(strings.ReplaceAll(runs[part], ";", " "), " at_length "+folder+" ") {
				problems = append(problems, fmt.Sprintf("%s: part %s does not run a Test%s that asks lab.Lengthy", tierScript, part, name))
			}
			delete(asking, "Test"+name)
		}
	}
	for name, folder := range asking {
		problems = append(problems, fmt.Sprintf("%s: %s asks lab.Lengthy and is in no part of %s", folder, name, tierScript))
	}
	return problems
}

// assignment is what stands between the brackets of NAME=(...) in a script.
func assignment(script, name string) string {
	_, after, _ := strings.Cut(script, name+"=(")
	inside, _, _ := strings.Cut(after, ")")
	return inside
}

// askingTests are the tests that ask whether they may take many minutes, with their folders; and who asks otherwise.
func askingTests(r tree) (asking map[string]string, problems []string) {
	asking = map[string]string{}
	for _, file := range r.match(suffix(".go")) {
		folder := path.Dir(file)
		if folder == "test/repo" || file == tierHelper {
			continue
		}
		text, _ := r.read(file)
		if strings.Contains(text, "REALMGATE_LENGTHY") {
			problems = append(problems, file+": names REALMGATE_LENGTHY; ask lab.Lengthy")
		}
		if !asksLengthy.MatchString(text) {
			continue
		}
		for _, function := range goFunction.FindAllStringSubmatch(text, -1) {
			if name := function[1]; strings.HasPrefix(name, "Test") && asksLengthy.MatchString(function[0]) {
				asking[name] = folder
				text = strings.Replace(text, function[0], "", 1)
			}
		}
		if asksLengthy.MatchString(text) {
			problems = append(problems, file+": asks lab.Lengthy outside of a test; ask where the test begins")
		}
	}
	return asking, problems
}

func TestTiers(t *testing.T) {
	t.Parallel()
	upholds(t, checkTiers)
}

func TestTiersCanFail(t *testing.T) {
	t.Parallel()
	rejects(t, checkTiers, nil, "tools/test.sh: missing")
	rejects(t, checkTiers, map[string]string{
		developing: "`a`, `b` and `c`\n",
		tierScript: "declare -A minutes=([quick]=10 [a]=12 [b]=50\n  [c]=9)\nslow=(a b c d)\n" +
			"declare -A lengthy=(\n  [a]='Long|Elsewhere'\n  [b]='Gone'\n  [e]='Lost'\n)\n" +
			"a_tests() { at_length test/e2e; }\nb_tests() { at_length test/e2e; }\nc_tests() {\n  stage c\n}\n",
		"test/e2e/x_test.go": "func TestLong(t *testing.T) {\n\tlab.LengthyOnly(t)\n}\n\nfunc TestForgotten(t *testing.T) {\n\tif lab.Lengthy() {\n\t}\n}\n\n" +
			"func helper(t *testing.T) {\n\tlab.LengthyOnly(t)\n}\n",
		"test/browser/x_test.go": "func TestElsewhere(t *testing.T) {\n\tlab.LengthyOnly(t)\n}\n",
		"internal/x_test.go":     "os.Getenv(\"REALMGATE_LENGTHY\")\n",
		tierHelper:               "os.Getenv(\"REALMGATE_LENGTHY\")\n",
	}, "part b has 50 minutes", "part d has 0 minutes", "part d runs nothing", "part d is not told of", "lengthy e is no slow part",
		"part a does not run a TestElsewhere", "part b does not run a TestGone", "part e does not run a TestLost",
		"TestForgotten asks lab.Lengthy and is in no part", "x_test.go: asks lab.Lengthy outside of a test", "internal/x_test.go: names REALMGATE_LENGTHY")
}
