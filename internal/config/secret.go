package config

import (
	"encoding/base64"
	"errors"
	"slices"
	"strings"

	"github.com/realmgate/realmgate/internal/schema"
)

// leastSecret is the least length of a key in octets (RFC 8945 section 8: as long as the hash's output is advised).
const leastSecret = 16

// secret is a key in base64.
func secret() schema.Kind[string] {
	return schema.Kind[string]{
		Name: "text", Allowed: "base64 of 16 octets or more", Want: "a secret in base64, as tsig-keygen prints it", Tags: schema.TextTag,
		Show: func(s string) string { return s },
		Parse: func(text string) (string, error) {
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
func oneOf(words ...string) schema.Kind[string] {
	allowed := strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
	return schema.Kind[string]{
		Name: "word", Allowed: allowed, Want: allowed, Tags: schema.TextTag,
		Show: func(s string) string { return s },
		Parse: func(text string) (string, error) {
			if !slices.Contains(words, text) {
				return "", schema.ErrNoHint
			}
			return text, nil
		},
	}
}
