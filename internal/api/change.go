package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"time"
)

// mostBody is the longest body of a request: some million prefixes.
const mostBody = 32 << 20

// bodyTime is for it to arrive.
const bodyTime = 30 * time.Second

// change answers a request that has a body. What the gateway refuses was asked wrongly.
func change[Q, A any](w http.ResponseWriter, r *http.Request, query url.Values, valid func(Q) error, change func(Q) (A, error)) error {
	var request Q
	read := http.NewResponseController(w)
	_ = read.SetReadDeadline(time.Now().Add(bodyTime)) // a recorder in a test has none
	decoder := json.NewDecoder(http.MaxBytesReader(w, r.Body, mostBody))
	decoder.DisallowUnknownFields()
	if err := wantNone(query); err != nil {
		return err
	}
	if err := decoder.Decode(&request); err != nil {
		return failed(fmt.Errorf("read the request: %w", err))
	}
	_ = read.SetReadDeadline(time.Time{})
	if err := valid(request); err != nil {
		return failed(err)
	}
	done, err := change(request)
	return changed(w, done, err)
}

// do answers a request that says all by its path, and may expect a generation.
func do[A any](w http.ResponseWriter, r *http.Request, query url.Values, act func(Expected) (A, error)) error {
	if err := wantNone(query); err != nil {
		return err
	}
	expected, err := expected(r)
	if err != nil {
		return err
	}
	done, err := act(expected)
	return changed(w, done, err)
}

func changed(w http.ResponseWriter, done any, err error) error {
	if err != nil {
		return failure{http.StatusUnprocessableEntity, err}
	}
	return reply(w, http.StatusOK, done)
}
