package api

import (
	"errors"
	"fmt"
	"time"
)

// mostTokenSeconds is the longest that a token may hold: ten years.
const mostTokenSeconds = 10 * 365 * 24 * 3600

// TokenCommands are those about tokens.
type TokenCommands interface {
	Tokens() ([]Token, error)
	// CreateToken makes a token; its secret is told once.
	CreateToken(TokenRequest) (TokenMade, error)
	// RevokeToken ends a token, and what is asked by it at the time.
	RevokeToken(TokenName) (Token, error)
}

// Token is what somebody may ask by, who has its secret.
type Token struct {
	Name    string    `json:"name"`
	Role    Role      `json:"role"`
	Created time.Time `json:"created"`
	Expires time.Time `json:"expires"`
	Used    time.Time `json:"used,omitzero"` // last, give or take a minute; left out: never
}

// TokenRequest says which token to make.
type TokenRequest struct {
	Name    string  `json:"name"` // that no other has
	Role    Role    `json:"role"`
	Seconds float64 `json:"seconds"` // for which it holds, ten years at most
}

// TokenMade is a token that was made.
type TokenMade struct {
	Token
	Secret string `json:"secret"` // the gateway keeps only a hash of it
}

// TokenName says which token.
type TokenName struct {
	Name string `json:"name"`
}

func validToken(r TokenRequest) error {
	if r.Role == NoRole || !(r.Seconds >= 1 && r.Seconds <= mostTokenSeconds) {
		return fmt.Errorf("want a role, and 1 to %d seconds", mostTokenSeconds)
	}
	return nil
}

func validTokenName(r TokenName) error {
	if r.Name == "" {
		return errors.New("say which token")
	}
	return nil
}
