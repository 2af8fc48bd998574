package access

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strings"
	"time"

	"github.com/realmgate/realmgate/internal/api"
)

const (
	// secretPrefix lets programs that look for leaked secrets know one.
	secretPrefix = "rg_"
	secretLength = 32 // octets of chance

	mostTokens = 1000
	usedEvery  = time.Minute // how often it is noted that a token was used
)

// hash is what is kept of a secret. Secrets are as long as chance can be, so that nobody finds one by trying, and a hash that takes
// long would only cost time.
type hash = [sha256.Size]byte

// mint makes a secret.
func mint() (secret string, of hash) {
	octets := make([]byte, secretLength)
	_, _ = rand.Read(octets) // never fails
	secret = secretPrefix + base64.RawURLEncoding.EncodeToString(octets)
	return secret, sha256.Sum256([]byte(secret))
}

// kept is a token as the store has it, under its name.
type kept struct {
	Role    api.Role  `json:"role"`
	Hash    []byte    `json:"hash"` // SHA-256 of the secret
	Created time.Time `json:"created"`
	Expires time.Time `json:"expires"`
	Used    time.Time `json:"used,omitzero"`
}

func (k kept) token(name string) api.Token {
	return api.Token{Name: name, Role: k.Role, Created: k.Created, Expires: k.Expires, Used: k.Used}
}

// validName wants what can stand in a log and in a command.
func validName(name string) error {
	if name == "" || len(name) > 63 || strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") != "" {
		return fmt.Errorf("the name %q is not 1 to 63 letters, digits, dots, hyphens and underscores", name)
	}
	return nil
}
