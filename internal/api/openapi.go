package api

import (
	_ "embed"
	"net/http"
	"net/url"
)

// openAPI is written by its test, of Routes and the types of their answers.
//
//go:embed openapi.json
var openAPI []byte

func (h handler) openAPI(w http.ResponseWriter, _ *http.Request, query url.Values) error {
	if err := wantNone(query); err != nil {
		return err
	}
	limitWrite(w)
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(openAPI) // fails only for a client that has gone
	return nil
}
