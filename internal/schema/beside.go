package schema

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Beside is a path that the configuration file names, which is from its folder on.
func Beside(configuration, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(filepath.Dir(configuration), path)
}

// OpenBeside opens such a file. what is in it is for errors.
func OpenBeside(configuration, path, what string) (*os.File, error) {
	path = Beside(configuration, path)
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

// ReadBeside reads such a file whole, of at most so many bytes.
func ReadBeside(configuration, path, what string, most int64) (string, error) {
	file, err := OpenBeside(configuration, path, what)
	if err != nil {
		return "", err
	}
	defer func() { _ = file.Close() }() // only read: nothing can be lost
	text, err := io.ReadAll(io.LimitReader(file, most+1))
	switch {
	case err != nil:
		return "", fmt.Errorf("read the %s %s: %w", what, file.Name(), err)
	case int64(len(text)) > most:
		return "", fmt.Errorf("%s is larger than %d bytes", file.Name(), most)
	}
	return string(text), nil
}
