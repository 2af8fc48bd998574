package model

import (
	"fmt"
	"strings"
)

// Name is a domain name in canonical form: lower case, absolute, with the
// final dot. Use ParseName to make one; the zero value is no name.
type Name string

// ParseName canonicalises s and checks the limits of RFC 1035 §2.3.4 (labels
// of 1 to 63 octets, 255 in all) and the letters, digits, hyphens and
// underscores that host and service names use.
func ParseName(s string) (Name, error) {
	name := strings.TrimSuffix(s, ".")
	if name == "" {
		return "", fmt.Errorf("name %q is empty", s)
	}
	if len(name)+2 > 255 {
		return "", fmt.Errorf("name %q is longer than 255 octets", s)
	}
	for label := range strings.SplitSeq(name, ".") {
		if len(label) == 0 || len(label) > 63 {
			return "", fmt.Errorf("name %q has a label that is not 1 to 63 octets long", s)
		}
		if strings.HasPrefix(label, "-") || strings.HasSuffix(label, "-") {
			return "", fmt.Errorf("name %q has a label that begins or ends with a hyphen", s)
		}
		for _, c := range label {
			if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_' {
				return "", fmt.Errorf("name %q has the character %q: use letters, digits, hyphens and underscores", s, c)
			}
		}
	}
	return Name(strings.ToLower(name) + "."), nil // not before: the Kelvin sign has the small letter k
}

// In reports whether n is zone itself or below it, compared label by label:
// evilfoo.example. is not in foo.example.
func (n Name) In(zone Name) bool {
	return n == zone || strings.HasSuffix(string(n), "."+string(zone))
}

// String returns the name with its final dot.
func (n Name) String() string { return string(n) }
