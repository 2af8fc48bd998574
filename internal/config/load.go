package config

import (
	"fmt"
	"io"
	"os"

	rules "github.com/realmgate/realmgate/internal/ruleset/settings"
	"github.com/realmgate/realmgate/internal/schema"
)

// maxFile bounds a configuration file, in bytes: some 100,000 hosts.
const maxFile = 16 << 20

// Read reads and validates the file at path, and keeps its text. The error is schema.Errors when the file could be read and is
// not valid.
func Read(path string) (*Document, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read the configuration: %w", err)
	}
	defer func() { _ = file.Close() }() // only read: nothing can be lost
	data, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("read the configuration: %w", err)
	}
	return NewDocument(path, data)
}

// Parse validates data, the content of the file named file. The name is used in
// errors, and files of sets are beside it. Every error is of type schema.Errors.
func Parse(file string, data []byte) (*Config, error) { return parse(file, data, nil) }

// parse does not read those files of sets again that known have.
func parse(file string, data []byte, known []rules.Set) (*Config, error) {
	faults := &schema.Faults{File: file}
	c := new(Config)
	drafts := c.drafts(known)
	if len(data) > maxFile {
		faults.Add(1, "the file is larger than %d bytes", maxFile)
		return nil, faults.Err()
	}
	root, ok := parseYAML(faults, data, emptyProblem)
	if ok && hasVersion(faults, root) {
		schema.Read(faults, root, drafts)
	}
	if err := faults.Err(); err != nil {
		return nil, err
	}
	return c, nil
}
