package settings

import (
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/realmgate/realmgate/internal/model"
	"github.com/realmgate/realmgate/internal/schema"
)

// Key is a shared secret by which servers and ACME clients sign (TSIG, RFC 8945).
type Key struct {
	Name              model.Name
	Algorithm, Secret string // as tsig-keygen prints them; the secret in base64
}

type keyEntry struct {
	schema.Begun
	key                               Key
	file                              string
	nameLine, secretLine, fileKeyLine int
}

// defaultAlgorithm is that of keys that say nothing.
const defaultAlgorithm = "hmac-sha256"

func (k *keyEntry) keys() []schema.Key {
	k.key.Algorithm = defaultAlgorithm
	return []schema.Key{
		schema.OneAt("name", &k.key.Name, &k.nameLine, schema.Domain()).Must(),
		schema.One("algorithm", &k.key.Algorithm, schema.OneOf(defaultAlgorithm, "hmac-sha384", "hmac-sha512")),
		schema.Noting(&k.secretLine, schema.One("secret", &k.key.Secret, secret()).Otherwise("none")),
		schema.Noting(&k.fileKeyLine, schema.One("secret_file", &k.file, schema.FileName()).Otherwise("none")),
	}
}

// finishKeys completes the keys: files of secrets are read.
func (d *Draft) finishKeys(faults *schema.Faults) {
	taken := schema.Names{}
	for i, k := range d.keys {
		path := fmt.Sprintf("dns.keys[%d]", i)
		taken.Take(faults, path, k.key.Name.String(), k.nameLine)
		d.dns.Keys = append(d.dns.Keys, k.finish(faults, path))
	}
}

// HasKey reports whether the file has a key of that name.
func (d *Draft) HasKey(name model.Name) bool {
	return slices.ContainsFunc(d.keys, func(k *keyEntry) bool { return k.key.Name == name })
}

func (k *keyEntry) finish(faults *schema.Faults, path string) Key {
	if k.Either(faults, path, "secret or secret_file", k.secretLine, k.fileKeyLine) && k.file != "" {
		text, err := schema.ReadBeside(faults.File, k.file, "secret", 4096)
		if err == nil {
			text, err = secret().Parse(strings.TrimSpace(text))
		}
		if err != nil {
			faults.Add(k.fileKeyLine, "%s.secret_file: %v", path, err)
		}
		k.key.Secret = text
	}
	return k.key
}

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
