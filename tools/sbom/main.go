package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "sbom: give the program, its version and the list of scripts")
		os.Exit(2)
	}
	if err := write(os.Stdout, os.Args[1], os.Args[2], os.Args[3], os.Getenv("SOURCE_DATE_EPOCH")); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

// The parts of the format that are used here: https://cyclonedx.org/docs/1.6/json/.
type (
	bill struct {
		Format       string       `json:"bomFormat"`
		Spec         string       `json:"specVersion"`
		Version      int          `json:"version"` // of the bill
		Metadata     metadata     `json:"metadata"`
		Components   []component  `json:"components"`
		Dependencies []dependency `json:"dependencies"`
	}
	metadata struct {
		Timestamp string    `json:"timestamp,omitempty"`
		Component component `json:"component"`
	}
	component struct {
		Type    string `json:"type"` // application, library
		Ref     string `json:"bom-ref"`
		Name    string `json:"name"`
		Version string `json:"version"`
		URL     string `json:"purl"` // pkg:golang/MODULE@VERSION, pkg:npm/PACKAGE@VERSION
		Hashes  []hash `json:"hashes,omitempty"`
	}
	hash struct {
		Algorithm string `json:"alg"`
		Content   string `json:"content"`
	}
	dependency struct {
		Ref string   `json:"ref"`
		On  []string `json:"dependsOn"`
	}
)

func write(w io.Writer, program, version, list, epoch string) error {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return fmt.Errorf("read what %s is made of: %w", program, err)
	}
	content, err := os.ReadFile(program)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(content)
	itself := module("application", info.Main.Path, version)
	itself.Name = filepath.Base(program)
	itself.Hashes = []hash{{"SHA-256", hex.EncodeToString(sum[:])}}
	b := bill{Format: "CycloneDX", Spec: "1.6", Version: 1, Metadata: metadata{Component: itself}}
	if seconds, err := strconv.ParseInt(epoch, 10, 64); err == nil {
		b.Metadata.Timestamp = time.Unix(seconds, 0).UTC().Format(time.RFC3339)
	}
	b.Components = []component{module("library", "std", strings.TrimPrefix(info.GoVersion, "go"))}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		b.Components = append(b.Components, module("library", m.Path, m.Version))
	}
	scripts, err := scriptsOf(list)
	if err != nil {
		return err
	}
	b.Components = append(b.Components, scripts...)
	on := dependency{Ref: itself.Ref}
	for _, c := range b.Components {
		on.On = append(on.On, c.Ref)
	}
	b.Dependencies = []dependency{on}
	out := json.NewEncoder(w)
	out.SetIndent("", "  ")
	out.SetEscapeHTML(false)
	return out.Encode(b)
}

// scriptsOf reads a list of scripts: hash, file, package and version, licence, with two blanks between.
func scriptsOf(list string) (made []component, err error) {
	text, err := os.ReadFile(list)
	if err != nil {
		return nil, fmt.Errorf("read the list of scripts: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.Split(strings.TrimSpace(line), "  ")
		if len(fields) != 4 {
			return nil, fmt.Errorf("read the list of scripts: %q has not four fields", line)
		}
		name, version, _ := strings.Cut(fields[2], " ")
		url := "pkg:npm/" + name + "@" + version
		made = append(made, component{"file", url + "#" + fields[1], name + "/" + fields[1], version, url, []hash{{"SHA-256", fields[0]}}})
	}
	return made, nil
}

func module(kind, path, version string) component {
	url := "pkg:golang/" + path + "@" + version
	return component{Type: kind, Ref: url, Name: path, Version: version, URL: url}
}
