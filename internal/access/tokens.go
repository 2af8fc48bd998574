package access

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/realmgate/realmgate/internal/api"
)

// bucket of the store's file.
const bucket = "tokens"

// Store keeps what outlives a restart. *store.Store is one.
type Store interface {
	Change(bucket string, put map[string][]byte, remove []string) error
	Each(bucket string, visit func(key string, value []byte) error) error
}

// tokens are those that hold, and some that have expired. They may be used by several goroutines.
type tokens struct {
	log   *slog.Logger
	mutex sync.Mutex // guards what follows
	store Store      // nil before open
	named map[string]*token
	known map[hash]*token
}

// token is one, and what is asked by it.
type token struct {
	kept
	name string
	may  context.Context // until it expires or is revoked
	end  context.CancelFunc
}

func newTokens(log *slog.Logger) *tokens {
	return &tokens{log: log, named: map[string]*token{}, known: map[hash]*token{}}
}

// open reads those that are kept. What cannot be read is nobody's.
func (t *tokens) open(s Store) error {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.store = s
	return s.Each(bucket, func(name string, value []byte) error {
		var k kept
		if err := json.Unmarshal(value, &k); err != nil || len(k.Hash) != sha256.Size {
			t.log.Warn("token not read", "token", name, "error", err)
			return nil
		}
		t.add(name, k)
		return nil
	})
}

func (t *tokens) add(name string, k kept) *token {
	may, end := context.WithDeadline(context.Background(), k.Expires)
	made := &token{k, name, may, end}
	t.named[name], t.known[hash(k.Hash)] = made, made
	return made
}

// Tokens implements api.TokenCommands.
func (t *tokens) Tokens() (list []api.Token, _ error) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	for name, one := range t.named {
		list = append(list, one.token(name))
	}
	return list, nil
}

// CreateToken implements api.TokenCommands.
func (t *tokens) CreateToken(r api.TokenRequest) (api.TokenMade, error) {
	if err := validName(r.Name); err != nil {
		return api.TokenMade{}, err
	}
	t.mutex.Lock()
	defer t.mutex.Unlock()
	switch {
	case t.named[r.Name] != nil:
		return api.TokenMade{}, api.WithRemedy(fmt.Errorf("there is a token %s", r.Name), "revoke it first, or take another name")
	case len(t.named) >= mostTokens:
		return api.TokenMade{}, api.WithRemedy(fmt.Errorf("there are %d tokens", mostTokens), "revoke some")
	}
	secret, of := mint()
	now := time.Now().UTC().Truncate(time.Second)
	k := kept{Role: r.Role, Hash: of[:], Created: now, Expires: now.Add(time.Duration(r.Seconds * float64(time.Second)))}
	if err := t.write(r.Name, k); err != nil {
		return api.TokenMade{}, fmt.Errorf("keep the token: %w", err)
	}
	t.add(r.Name, k)
	return api.TokenMade{Token: k.token(r.Name), Secret: secret}, nil
}

// RevokeToken implements api.TokenCommands.
func (t *tokens) RevokeToken(r api.TokenName) (api.Token, error) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	one := t.named[r.Name]
	if one == nil {
		return api.Token{}, api.WithRemedy(fmt.Errorf("there is no token %q", r.Name), "see realmgate token list")
	}
	delete(t.named, r.Name)
	delete(t.known, hash(one.Hash))
	one.end()
	if err := t.store.Change(bucket, nil, []string{r.Name}); err != nil {
		return api.Token{}, fmt.Errorf("it holds no more now, but after a restart: %w", err)
	}
	return one.token(r.Name), nil
}

func (t *tokens) write(name string, k kept) error {
	value, err := json.Marshal(k)
	if err != nil {
		return err
	}
	return t.store.Change(bucket, map[string][]byte{name: value}, nil)
}

// Why a secret is refused.
var (
	errUnknown = errors.New("there is no such token")
	errExpired = errors.New("the token has expired")
)

// of says who has a secret.
func (t *tokens) of(secret string, now time.Time) (api.Caller, error) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	// A table of hashes tells nothing by its time: nobody can choose secrets with a hash that is nearly one.
	one := t.known[sha256.Sum256([]byte(secret))]
	switch {
	case one == nil:
		return api.Caller{}, errUnknown
	case !now.Before(one.Expires):
		return api.Caller{}, fmt.Errorf("%w: %s, on %s", errExpired, one.name, one.Expires.Format(time.DateOnly))
	}
	if now.Sub(one.Used) >= usedEvery {
		one.Used = now.UTC().Truncate(time.Second)
		if err := t.write(one.name, one.kept); err != nil {
			t.log.Warn("use of a token not noted", "token", one.name, "error", err)
		}
	}
	return api.Caller{Role: one.Role, Kind: "token", Name: one.name, May: one.may}, nil
}
