package schema

import (
	"fmt"
	"os"
	"path/filepath"
)

// OpenBeside opens a file that the configuration names: path is from its folder on. what
// is in it is for errors.
func OpenBeside(configuration, path, what string) (*os.File, error) {
	if !filepath.IsAbs(path) {
		path = filepath.Join(filepath.Dir(configuration), path)
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, fmt.Errorf("read the %s: %w", what, err)
	case !info.Mode().IsRegular(): // opening a pipe would wait
		return nil, fmt.Errorf("%s is not a file", path)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read the %s: %w", what, err)
	}
	return file, nil
}
