package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"
)

// mostBody is the longest body of a request: some million prefixes.
const mostBody = 32 << 20

// bodyTime is for it to arrive.
const bodyTime = 30 * time.Second

// changing answers a request that has a body. What the gateway refuses was asked wrongly.
func changing[Q, A any](valid func(Q) error, change func(Gateway, Q) (A, error)) endpoint {
	return func(h handler, w http.ResponseWriter, r *http.Request, query url.Values) error {
		var request Q
		if err := wantNone(query); err != nil {
			return err
		}
		if err := readBody(w, r, &request); err != nil {
			return failed(fmt.Errorf("read the request: %w", err))
		}
		if err := valid(request); err != nil {
			return failed(err)
		}
		done, err := change(h.gateway, request)
		return changed(w, done, err)
	}
}

func readBody(w http.ResponseWriter, r *http.Request, request any) error {
	read := http.NewResponseController(w)
	_ = read.SetReadDeadline(time.Now().Add(bodyTime)) // a recorder in a test has none
	decoder := json.NewDecoder(http.MaxBytesReader(w, r.Body, mostBody))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(request); err != nil {
		return err
	}
	_ = read.SetReadDeadline(time.Time{})
	return nil
}

// doing answers a request that says all by its path, and may expect a generation.
func doing[A any](act func(Gateway, Request) (A, error)) endpoint {
	return func(h handler, w http.ResponseWriter, r *http.Request, query url.Values) error {
		if err := wantNone(query); err != nil {
			return err
		}
		request, err := requestOf(r)
		if err != nil {
			return err
		}
		done, err := act(h.gateway, request)
		return changed(w, done, err)
	}
}

// changed answers what was asked of the gateway. An error that has no status of its own is about what was asked.
func changed(w http.ResponseWriter, done any, err error) error {
	if f := (failure{}); errors.As(err, &f) {
		return err
	}
	if err != nil {
		return failure{http.StatusUnprocessableEntity, err}
	}
	return reply(w, http.StatusOK, done)
}
