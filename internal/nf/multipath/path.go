package multipath

import (
	"errors"
	"fmt"
	"strings"

	"github.com/realmgate/realmgate/internal/schema"
)

const longestPath = 1024 // bytes

// webPath is what a GET asks for.
func webPath() schema.Kind[string] {
	return schema.Kind[string]{
		Name: "path", Allowed: "as /health", Want: "a path as /health", Tags: schema.TextTag,
		Show: func(s string) string { return s },
		Parse: func(text string) (string, error) {
			bad := func(r rune) bool { return r <= ' ' || r >= 0x7f || r == '#' }
			switch {
			case len(text) > longestPath:
				return "", fmt.Errorf("it is longer than %d bytes", longestPath)
			case !strings.HasPrefix(text, "/") || strings.ContainsFunc(text, bad):
				return "", schema.ErrNoHint
			case !validEscapes(text):
				return "", errors.New("a % is followed by two hexadecimal digits")
			}
			return text, nil
		},
	}
}

// validEscapes reports whether each percent sign begins an escape (RFC 3986 section 2.1).
func validEscapes(path string) bool {
	for i := range len(path) {
		if path[i] == '%' && (i+2 >= len(path) || !schema.IsHex(path[i+1]) || !schema.IsHex(path[i+2])) {
			return false
		}
	}
	return true
}
