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

// Read reads and validates the file at path with those of the folder beside it, and keeps their texts. The error is schema.Errors
// when the files could be read and are not valid.
func Read(path string) (*Document, error) {
	sources, err := readSources(path)
	if err != nil {
		return nil, fmt.Errorf("read the configuration: %w", err)
	}
	return newDocument(sources, nil)
}

func readSources(path string) ([]source, error) {
	files, err := filesOf(path)
	if err != nil {
		return nil, err
	}
	sources := make([]source, len(files))
	for i, file := range files {
		text, err := readFile(file)
		if err != nil {
			return nil, err
		}
		sources[i] = source{file, text}
	}
	return sources, nil
}

// readFile reads one that is larger than allowed only so far that this shows.
func readFile(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // only read: nothing can be lost
	return io.ReadAll(io.LimitReader(file, maxFile+1))
}

// Parse validates data, the content of the file named file. The name is used in
// errors, and files of sets are beside it. Every error is of type schema.Errors.
func Parse(file string, data []byte) (*Config, error) {
	return parse([]source{{file, data}}, nil)
}

// parse does not read those files of sets again that known have.
func parse(sources []source, known []rules.Set) (*Config, error) {
	c := new(Config)
	drafts := c.drafts(known)
	faults := faultsOf(sources)
	if root := join(faults, sources); faults.Err() == nil && hasVersion(faults, root) {
		schema.Read(faults, root, drafts)
		checkSides(faults, root)
	}
	if err := faults.Err(); err != nil {
		return nil, err
	}
	return c, nil
}
