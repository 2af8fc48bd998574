package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
)

// mostBody is the longest body of a request: some million prefixes.
const mostBody = 32 << 20

// change answers a request that has a body. What the gateway refuses was asked wrongly.
func change[Q, A any](w http.ResponseWriter, r *http.Request, query url.Values, valid func(Q) error, change func(Q) (A, error)) error {
	var request Q
	decoder := json.NewDecoder(http.MaxBytesReader(w, r.Body, mostBody))
	decoder.DisallowUnknownFields()
	if err := wantNone(query); err != nil {
		return err
	}
	if err := decoder.Decode(&request); err != nil {
		return failure{http.StatusBadRequest, fmt.Errorf("read the request: %w", err)}
	}
	if err := valid(request); err != nil {
		return failure{http.StatusBadRequest, err}
	}
	return do(w, nil, func() (A, error) { return change(request) })
}

// do answers a request that says all by its path.
func do[A any](w http.ResponseWriter, query url.Values, act func() (A, error)) error {
	if err := wantNone(query); err != nil {
		return err
	}
	done, err := act()
	if err != nil {
		return failure{http.StatusUnprocessableEntity, err}
	}
	return reply(w, http.StatusOK, done)
}
