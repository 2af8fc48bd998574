package model

import (
	"fmt"
	"strings"
)

// wildcardPrefix is how a name begins that stands for those below it (RFC 4592 §2.1.1).
const wildcardPrefix = "*."

// ParsePattern reads a name, or "*." and a name: a wildcard, which stands for the names below that one.
func ParsePattern(s string) (Name, error) {
	below, isWildcard := strings.CutPrefix(s, wildcardPrefix)
	name, err := ParseName(below)
	if err != nil || !isWildcard {
		return name, err
	}
	if name = wildcardPrefix + name; len(name)+1 > 255 {
		return "", fmt.Errorf("name %q is longer than 255 octets", s)
	}
	return name, nil
}

// Wildcard returns the wildcard for the names below n.
func (n Name) Wildcard() Name { return wildcardPrefix + n }
