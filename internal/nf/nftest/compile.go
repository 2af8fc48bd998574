package nftest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Compile makes an object of the source of a user's own function, with the public header. Flags come last.
func Compile(t testing.TB, source string, flags ...string) []byte {
	t.Helper()
	return CompileWith(t, filepath.Join(repository(t), "bpf/nf"), source, flags...)
}

// CompileWith has the headers of a folder. It goes by the Makefile that users are given.
func CompileWith(t testing.TB, include, source string, flags ...string) []byte {
	t.Helper()
	if _, err := exec.LookPath("clang-19"); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("clang-19 is missing; CI allows no skips")
		}
		t.Skip("needs clang-19: run make deps")
	}
	directory := t.TempDir()
	if err := os.WriteFile(filepath.Join(directory, "it.bpf.c"), []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	makefile := filepath.Join(repository(t), "examples/network-function/Makefile")
	including := strings.Join(append([]string{include}, flags...), " ")
	built := exec.Command("make", "-C", directory, "-f", makefile, "CLANG=clang-19", "INCLUDE="+including, "it.bpf.o")
	if out, err := built.CombinedOutput(); err != nil {
		t.Fatalf("make: %v\n%s\n%s", err, out, source)
	}
	object, err := os.ReadFile(filepath.Join(directory, "it.bpf.o"))
	if err != nil {
		t.Fatal(err)
	}
	return object
}

// repository is the folder that has the module: tests of several others compile.
func repository(t testing.TB) string {
	t.Helper()
	folder, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for folder != "/" {
		if _, err := os.Stat(filepath.Join(folder, "go.mod")); err == nil {
			return folder
		}
		folder = filepath.Dir(folder)
	}
	t.Fatal("no folder above has a go.mod")
	return ""
}
