package repo

import (
	"errors"
	"fmt"
	"os/exec"
	"path"
	"strings"
	"testing"
)

// scripts lists the shell scripts: by name, or by their first line where a file
// has no extension.
func scripts(r tree) []string {
	return r.match(func(file string) bool {
		if strings.HasSuffix(file, ".sh") {
			return true
		}
		if path.Ext(path.Base(strings.TrimPrefix(file, "."))) != "" {
			return false
		}
		text, _ := r.read(file)
		first, _, _ := strings.Cut(text, "\n")
		return strings.HasPrefix(first, "#!") && strings.HasSuffix(first, "sh")
	})
}

// checkShell wants shellcheck to find nothing, and every script to stop at its
// first error.
func checkShell(r tree) []string {
	var problems []string
	for _, file := range scripts(r) {
		text, _ := r.read(file)
		if !strings.Contains(text, "set -eu") {
			problems = append(problems, file+": without set -euo pipefail it goes on after an error")
		}
		cmd := exec.Command("shellcheck", "--format=gcc", "-")
		cmd.Stdin = strings.NewReader(text)
		out, err := cmd.Output()
		var exit *exec.ExitError
		switch {
		case errors.As(err, &exit):
			problems = append(problems, strings.ReplaceAll(strings.TrimSpace(string(out)), "-:", file+":"))
		case err != nil:
			problems = append(problems, fmt.Sprintf("%s: running shellcheck: %v", file, err))
		}
	}
	return problems
}

func TestShell(t *testing.T) {
	t.Parallel()
	needShellcheck(t)
	if len(scripts(repository(t))) == 0 {
		t.Error("no shell scripts found: .ci/run should be one")
	}
	upholds(t, checkShell)
}

func TestShellCanFail(t *testing.T) {
	t.Parallel()
	needShellcheck(t)
	rejects(t, checkShell, map[string]string{
		"tools/good.sh": "#!/usr/bin/env bash\nset -euo pipefail\necho \"$1\"\n",
		"tools/bad.sh":  "#!/usr/bin/env bash\nset -euo pipefail\necho $1\n",
		".ci/run":       "#!/bin/sh\necho on and on\n",
		"README.md":     "#!/bin/sh\n",
	}, "tools/bad.sh:3:6: note: Double quote", ".ci/run: without set")
}

func needShellcheck(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("shellcheck"); err != nil {
		unavailable(t, "shellcheck is not installed")
	}
}
