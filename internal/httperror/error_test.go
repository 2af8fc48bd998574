package httperror

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestErrorsHaveNoAddress(t *testing.T) {
	ended := errors.New("it took too long")
	late, cancel := context.WithDeadlineCause(t.Context(), time.Now(), ended)
	defer cancel()
	for name, c := range map[string]struct {
		ctx  context.Context
		want string
	}{"refused": {t.Context(), "connection refused"}, "ended by us": {late, ended.Error()}} {
		request, err := http.NewRequestWithContext(c.ctx, http.MethodGet, "http://127.0.0.1:1/?key=secret", nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := http.DefaultClient.Do(request)
		if err == nil {
			_ = answer.Body.Close()
			t.Fatal("somebody listens at port 1")
		}
		if !strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v has no address to leave out", name, err)
		}
		if plain := Plain(c.ctx, fmt.Errorf("fetch: %w", err)); !strings.Contains(plain.Error(), c.want) || strings.Contains(plain.Error(), "secret") {
			t.Errorf("%s: %v, want %q", name, plain, c.want)
		}
	}
}
