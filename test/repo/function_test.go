package repo

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

const functionList = "internal/nf/functions/list.go"

var oneFunction = regexp.MustCompile(`"` + module + `/(internal/nf/([a-z0-9]+))"`)

// checkFunctions wants every network function to have a test in its folder that runs it in the kernel, on the bed that they share.
func checkFunctions(r tree) []string {
	list, _ := r.read(functionList)
	found := oneFunction.FindAllStringSubmatch(list, -1)
	if len(found) == 0 {
		return []string{functionList + ": names no function"}
	}
	var problems []string
	for _, f := range found {
		name := fmt.Sprintf("%s/%s_test.go", f[1], f[2])
		text, _ := r.read(name)
		if !strings.Contains(text, `"`+module+`/internal/nf/nftest"`) || !strings.Contains(text, "nftest.New(") {
			problems = append(problems, name+": does not run the function on a bed of internal/nf/nftest")
		}
	}
	return problems
}

func TestFunctionsRunInTheKernel(t *testing.T) {
	t.Parallel()
	upholds(t, checkFunctions)
}

func TestFunctionsRunInTheKernelCanFail(t *testing.T) {
	t.Parallel()
	rejects(t, checkFunctions, map[string]string{}, "names no function")
	imported := func(name string) string { return `import "` + module + "/internal/nf" + name + "\"\n" }
	rejects(t, checkFunctions, map[string]string{
		functionList:                        imported("") + imported("/good") + imported("/plain") + imported("/bare"),
		"internal/nf/good/good_test.go":     imported("/nftest") + "nftest.New(t)",
		"internal/nf/plain/plain_test.go":   "package plain\n",
		"internal/nf/bare/settings_test.go": imported("/nftest") + "nftest.New(t)",
	}, "internal/nf/plain/plain_test.go: does not run", "internal/nf/bare/bare_test.go: does not run")
}
