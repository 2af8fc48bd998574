package config

import (
	"encoding/base64"
	"errors"
	"slices"
	"strings"
)

// leastSecret is the least length of a key in octets (RFC 8945 section 8: as long as the hash's output is advised).
const leastSecret = 16

// secret is a key in base64.
func secret() kind[string] {
	return kind[string]{
		name: "text", allowed: "base64 of 16 octets or more", want: "a secret in base64, as tsig-keygen prints it", tags: textTag,
		show: func(s string) string { return s },
		parse: func(text string) (string, error) {
			raw, err := base64.StdEncoding.DecodeString(text)
			if err != nil {
				return "", errors.New("it is not base64")
			}
			if len(raw) < leastSecret {
				return "", errors.New("it is too short: make one with tsig-keygen or keymgr -t")
			}
			return text, nil
		},
	}
}

// oneOf is one of some words.
func oneOf(words ...string) kind[string] {
	allowed := strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
	return kind[string]{
		name: "word", allowed: allowed, want: allowed, tags: textTag,
		show: func(s string) string { return s },
		parse: func(text string) (string, error) {
			if !slices.Contains(words, text) {
				return "", errNoHint
			}
			return text, nil
		},
	}
}
