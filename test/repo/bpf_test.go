package repo

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const bpfLicence = "SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause"

var (
	licensed  = regexp.MustCompile(`^(?:/\* ` + bpfLicence + ` \*/|// ` + bpfLicence + `)\n`)
	concern   = regexp.MustCompile(`^\s*/\*((?s).*?)\*/`)
	directive = regexp.MustCompile(`(?m)^//go:generate .*bpf2go.*$`)
	ebpfPin   = regexp.MustCompile(`(?m)^\s*(?:require )?github\.com/cilium/ebpf (v\S+)`)
)

var (
	included = regexp.MustCompile(`(?m)^#include "([^"]+)"$`)
	// What bpf/packet may include beside itself: what a frame holds is told without any table.
	tableless = regexp.MustCompile(`^\.\./include/(ctx|ctx_skb|ctx_xdp|reason)\.h$`)
)

// checkPure wants the headers about what a packet holds to know no table.
func checkPure(r tree) []string {
	var problems []string
	for _, file := range r.match(suffix(".h")) {
		if !strings.HasPrefix(file, "bpf/packet/") {
			continue
		}
		text, _ := r.read(file)
		for _, include := range included.FindAllStringSubmatch(text, -1) {
			if strings.Contains(include[1], "/") && !tableless.MatchString(include[1]) {
				problems = append(problems, fmt.Sprintf("%s: includes %s: bpf/packet knows no table", file, include[1]))
			}
		}
	}
	return problems
}

// checkCircles wants no header to include itself by way of others: #pragma once would hide it, and what it declares would
// depend on who is first.
func checkCircles(r tree) []string {
	includes := map[string][]string{}
	for _, file := range r.match(suffix(".c", ".h")) {
		text, _ := r.read(file)
		for _, include := range included.FindAllStringSubmatch(text, -1) {
			includes[file] = append(includes[file], path.Join(path.Dir(file), include[1]))
		}
	}
	var problems []string
	done := map[string]bool{}
	var visit func(file string, way []string)
	visit = func(file string, way []string) {
		if at := slices.Index(way, file); at >= 0 {
			problems = append(problems, strings.Join(append(way[at:], file), " includes "))
			return
		}
		if done[file] {
			return
		}
		for _, next := range includes[file] {
			visit(next, append(slices.Clone(way), file))
		}
		done[file] = true
	}
	for _, file := range slices.Sorted(maps.Keys(includes)) {
		visit(file, nil)
	}
	return problems
}

// checkBPF wants every C file of the data plane to open with its licence and a
// comment that states its concern, and to be built by a pinned compiler that
// takes no warning.
func checkBPF(r tree) []string {
	var problems []string
	for _, file := range r.match(suffix(".c", ".h")) {
		if !strings.HasPrefix(file, "bpf/") && !strings.HasPrefix(file, "internal/nf/") {
			continue
		}
		text, _ := r.read(file)
		if !licensed.MatchString(text) {
			problems = append(problems, fmt.Sprintf("%s: the first line must be a comment with %s", file, bpfLicence))
		}
		comment := concern.FindStringSubmatch(licensed.ReplaceAllString(text, ""))
		if comment == nil || len(strings.Fields(strings.ReplaceAll(comment[1], "*", ""))) < 5 {
			problems = append(problems, file+": must open with a comment that states its concern")
		}
	}
	for _, file := range r.match(suffix(".go")) {
		text, _ := r.read(file)
		for _, line := range directive.FindAllString(text, -1) {
			for _, want := range []string{"go tool -modfile=", "tools/go.mod", "-cc clang-19", "-Wall", "-Werror"} {
				if !strings.Contains(line, want) {
					problems = append(problems, fmt.Sprintf("%s: go:generate bpf2go without %q", file, want))
				}
			}
		}
	}
	return problems
}

// checkPins wants the generator to be of the same version as the library that
// loads what it made.
func checkPins(r tree) []string {
	users, _ := r.read("go.mod")
	tools, _ := r.read("tools/go.mod")
	used, made := ebpfPin.FindStringSubmatch(users), ebpfPin.FindStringSubmatch(tools)
	switch {
	case used == nil || made == nil:
		return []string{"go.mod and tools/go.mod must both require github.com/cilium/ebpf"}
	case used[1] != made[1]:
		return []string{fmt.Sprintf("go.mod has github.com/cilium/ebpf %s, tools/go.mod %s: make them equal", used[1], made[1])}
	}
	return nil
}

func TestBPF(t *testing.T) {
	t.Parallel()
	upholds(t, checkBPF)
}

func TestPure(t *testing.T) {
	t.Parallel()
	upholds(t, checkPure)
}

func TestPureCanFail(t *testing.T) {
	t.Parallel()
	rejects(t, checkPure, map[string]string{
		"bpf/packet/good.h": "#include \"sum.h\"\n#include \"../include/reason.h\"\n",
		"bpf/packet/bad.h":  "#include \"../include/maps.h\"\n",
		"bpf/nat/other.h":   "#include \"../include/maps.h\"\n",
	}, "bpf/packet/bad.h: includes ../include/maps.h")
}

func TestCircles(t *testing.T) {
	t.Parallel()
	upholds(t, checkCircles)
}

func TestCirclesCanFail(t *testing.T) {
	t.Parallel()
	rejects(t, checkCircles, map[string]string{
		"bpf/a.bpf.c": "#include \"x/a.h\"\n#include \"x/c.h\"\n",
		"bpf/x/a.h":   "#include \"../y/b.h\"\n#include \"c.h\"\n",
		"bpf/x/c.h":   "",
		"bpf/y/b.h":   "#include \"../x/a.h\"\n",
	}, "bpf/x/a.h includes bpf/y/b.h includes bpf/x/a.h")
}

func TestPins(t *testing.T) {
	t.Parallel()
	upholds(t, checkPins)
}

func TestBPFCanFail(t *testing.T) {
	t.Parallel()
	licence := "/* " + bpfLicence + " */\n"
	words := "/*\n * What this header is about, in a sentence.\n */\n"
	good := "//go:generate go tool -modfile=../../tools/go.mod bpf2go -cc clang-19 -cflags \"-O2 -Wall -Werror\" gateway x.bpf.c\n"
	rejects(t, checkBPF, map[string]string{
		"bpf/include/good.h":        licence + words + "#pragma once\n",
		"bpf/good.bpf.c":            "// " + bpfLicence + "\n" + words,
		"bpf/include/silent.h":      licence + "#pragma once\n/* a comment too late to count */\n",
		"internal/nf/short.c":       licence + "/* filter */\n",
		"bpf/free.c":                words,
		"internal/datapath/good.go": good,
		"internal/nf/loose.go":      strings.Replace(good, " -Werror", "", 1),
		"internal/nf/other.go":      "//go:generate stringer -type Verdict\n",
	}, "bpf/include/silent.h: must open", "internal/nf/short.c: must open", "bpf/free.c: the first line", `loose.go: go:generate bpf2go without "-Werror"`)
}

func TestPinsCanFail(t *testing.T) {
	t.Parallel()
	pin := func(v string) string { return "require (\n\tgithub.com/cilium/ebpf " + v + " // indirect\n)\n" }
	rejects(t, checkPins, map[string]string{"go.mod": pin("v0.22.0"), "tools/go.mod": pin("v0.22.0")})
	rejects(t, checkPins, map[string]string{"go.mod": pin("v0.22.0"), "tools/go.mod": pin("v0.21.0")}, "tools/go.mod v0.21.0")
	rejects(t, checkPins, map[string]string{"go.mod": pin("v0.22.0")}, "must both require")
}
