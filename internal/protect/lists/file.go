package lists

import (
	"errors"
	"fmt"
	"os"
)

// ReadFile reads a list that the user wrote. What is wrong with a line is told with the
// file and its number.
func ReadFile(path string, rules Rules) (*List, error) {
	about, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("read a list: %w", err)
	}
	if !about.Mode().IsRegular() { // a pipe would make us wait for who writes to it
		return nil, fmt.Errorf("read a list: %s is no file", path)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read a list: %w", err)
	}
	defer func() { _ = file.Close() }() // only read: nothing can be lost
	l, err := Parse(file, rules)
	var line *LineError
	switch {
	case err == nil:
		return l, nil
	case errors.As(err, &line) && !rules.Downloaded:
		return nil, fmt.Errorf("%s:%d: %w", path, line.Line, line.Err)
	}
	return nil, fmt.Errorf("%s: %w", path, err)
}
