package access

import (
	"errors"
	"log/slog"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/api"
)

// memory is a store; broken is what goes wrong with it.
type memory struct {
	values map[string][]byte
	broken error
}

func newMemory() *memory { return &memory{values: map[string][]byte{}} }

func (m *memory) Change(_ string, put map[string][]byte, remove []string) error {
	if m.broken != nil {
		return m.broken
	}
	maps.Copy(m.values, put)
	for _, key := range remove {
		delete(m.values, key)
	}
	return nil
}

func (m *memory) Each(_ string, visit func(string, []byte) error) error {
	for key, value := range m.values {
		if err := visit(key, value); err != nil {
			return err
		}
	}
	return m.broken
}

func opened(t *testing.T, m *memory) *tokens {
	t.Helper()
	kept := newTokens(slog.New(slog.DiscardHandler))
	if err := kept.open(m); err != nil {
		t.Fatal(err)
	}
	return kept
}

// Who has the secret of a token is known until it expires or is revoked, over a restart too; no secret is kept.
func TestTokens(t *testing.T) {
	t.Parallel()
	m := newMemory()
	first := opened(t, m)
	made, err := first.CreateToken(api.TokenRequest{Name: "prometheus", Role: api.Read, Seconds: 3600})
	if err != nil || !strings.HasPrefix(made.Secret, "rg_") || len(made.Secret) != 3+43 || made.Expires.Sub(made.Created) != time.Hour {
		t.Fatalf("%+v, %v", made, err)
	}
	for name, value := range m.values {
		if strings.Contains(string(value), made.Secret[3:]) {
			t.Errorf("the store has the secret of %s: %s", name, value)
		}
	}
	if _, err := first.CreateToken(api.TokenRequest{Name: "prometheus", Role: api.Admin, Seconds: 1}); err == nil {
		t.Error("a name was given twice")
	}
	again := opened(t, m) // after a restart
	now := time.Now()
	caller, err := again.of(made.Secret, now)
	if err != nil || caller.Role != api.Read || caller.Kind != "token" || caller.Name != "prometheus" || caller.May.Err() != nil {
		t.Fatalf("%+v, %v", caller, err)
	}
	if list, _ := again.Tokens(); len(list) != 1 || list[0].Used.IsZero() {
		t.Errorf("its use is not noted: %+v", list)
	}
	for secret, want := range map[string]error{made.Secret + "a": errUnknown, made.Secret[:len(made.Secret)-1]: errUnknown, "": errUnknown, "rg_": errUnknown} {
		if _, err := again.of(secret, now); !errors.Is(err, want) {
			t.Errorf("%q: %v", secret, err)
		}
	}
	if _, err := again.of(made.Secret, made.Expires); !errors.Is(err, errExpired) {
		t.Errorf("an expired one: %v", err)
	}
	if _, err := again.RevokeToken(api.TokenName{Name: "prometheus"}); err != nil || caller.May.Err() == nil {
		t.Errorf("what it asks goes on after it is revoked, %v", err)
	}
	if _, err := again.of(made.Secret, now); !errors.Is(err, errUnknown) {
		t.Errorf("a revoked one: %v", err)
	}
	if _, err := again.RevokeToken(api.TokenName{Name: "prometheus"}); err == nil || len(m.values) != 0 {
		t.Errorf("revoked twice: %v, %v are kept", err, m.values)
	}
}

// What a disk refuses is no token, and what it holds that cannot be read is nobody's.
func TestTokensOnABadDisk(t *testing.T) {
	t.Parallel()
	m := newMemory()
	m.values["bad"], m.values["short"] = []byte("{"), []byte(`{"role":"admin","hash":"AA==","expires":"2099-01-01T00:00:00Z"}`)
	kept := opened(t, m)
	if list, _ := kept.Tokens(); len(list) != 0 {
		t.Errorf("%+v", list)
	}
	m.broken = errors.New("the disk is full")
	if made, err := kept.CreateToken(api.TokenRequest{Name: "a", Role: api.Read, Seconds: 60}); err == nil || made.Secret != "" {
		t.Errorf("%+v, %v", made, err)
	}
	if list, _ := kept.Tokens(); len(list) != 0 {
		t.Errorf("a token that is not kept holds: %+v", list)
	}
	if err := newTokens(slog.New(slog.DiscardHandler)).open(m); err == nil {
		t.Error("a store that cannot be read is no error")
	}
}

func TestTokenNames(t *testing.T) {
	t.Parallel()
	for name, good := range map[string]bool{
		"prometheus": true, "a.b-c_D9": true, strings.Repeat("a", 63): true, "": false, strings.Repeat("a", 64): false, "a b": false, "a\nb": false, "ä": false, "a/b": false,
	} {
		if err := validName(name); (err == nil) != good {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestTokensAreBounded(t *testing.T) {
	t.Parallel()
	kept := opened(t, newMemory())
	for i := range mostTokens {
		kept.named[strings.Repeat("a", i%60)+time.Duration(i).String()] = &token{}
	}
	if _, err := kept.CreateToken(api.TokenRequest{Name: "one-more", Role: api.Read, Seconds: 60}); err == nil {
		t.Error("there is no bound")
	}
}
