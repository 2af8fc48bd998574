package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/realmgate/realmgate/internal/schema"
)

// Problem is what goes over the wire when a request fails (RFC 9457).
type Problem struct {
	Type   string  `json:"type"` // one of the Type constants
	Title  string  `json:"title"`
	Status int     `json:"status"`           // of HTTP, also where a stream had begun with 200
	Detail string  `json:"detail"`           // what is wrong, a line for each fault of a configuration
	Remedy string  `json:"remedy,omitempty"` // what to do about it
	Errors []Fault `json:"errors,omitempty"` // faults of a configuration
}

// Failed is the last line of a stream that failed.
type Failed struct {
	Error Problem `json:"error"`
}

// Fault is one of a configuration file.
type Fault struct {
	File   string `json:"file"`
	Line   int    `json:"line"` // from 1
	Detail string `json:"detail"`
}

// The types of problems that tell more than their status; each is a heading of the reference.
const (
	TypeStatus        = "about:blank" // the status says it (RFC 9457 §4.2.1)
	TypeRole          = typeBase + "role"
	TypeRequest       = typeBase + "request"
	TypeConfiguration = typeBase + "configuration"
	TypeGeneration    = typeBase + "generation"
	TypeCredentials   = typeBase + "credentials"

	typeBase = "https://github.com/realmgate/realmgate/blob/main/docs/reference/api.md#"
)

var titles = map[string]string{
	TypeRole:          "The role does not allow it",
	TypeRequest:       "The request cannot be meant",
	TypeConfiguration: "The configuration is at fault",
	TypeGeneration:    "Another configuration is in force",
	TypeCredentials:   "Nobody knows who asks",
}

// remedied is an error and what to do about it.
type remedied struct {
	error
	remedy string
}

func (r remedied) Error() string { return r.error.Error() + ": " + r.remedy }
func (r remedied) Unwrap() error { return r.error }

// WithRemedy adds to an error what to do about it.
func WithRemedy(err error, remedy string) error { return remedied{err, remedy} }

// failure is an error with its HTTP status.
type failure struct {
	status int
	error
}

func (f failure) Unwrap() error { return f.error }

// Fail adds a status of HTTP to an error.
func Fail(status int, err error) error { return failure{status, err} }

// failed is the error of a request that cannot be meant.
func failed(err error) error { return failure{http.StatusBadRequest, err} }

// Stale is why a change that expects a generation comes to nothing.
type Stale struct{ Expected, Now uint32 }

func (s Stale) Error() string {
	return fmt.Sprintf("generation %d is in force, and the change was made for %d", s.Now, s.Expected)
}

// problemOf says what to tell of an error.
func problemOf(err error) Problem {
	p := Problem{Type: TypeStatus, Status: http.StatusInternalServerError, Detail: err.Error()}
	if f := (failure{}); errors.As(err, &f) {
		p.Status = f.status
	}
	switch p.Status {
	case http.StatusBadRequest:
		p.Type = TypeRequest
	case http.StatusUnauthorized:
		p.Type = TypeCredentials
	}
	if r := (remedied{}); errors.As(err, &r) && r.Error() == p.Detail { // else the remedy is in the middle of it
		p.Detail, p.Remedy = r.error.Error(), r.remedy
	}
	if role := (roleError{}); errors.As(err, &role) {
		p.Type = TypeRole
	}
	if stale := (Stale{}); errors.As(err, &stale) {
		p.Type, p.Status, p.Remedy = TypeGeneration, http.StatusPreconditionFailed, "look at what is in force now, and try again with its generation"
	}
	if faults := (schema.Errors{}); errors.As(err, &faults) {
		p.Type = TypeConfiguration
		for _, f := range faults {
			p.Errors = append(p.Errors, Fault{f.File, f.Line, f.Message})
		}
	}
	if p.Title = titles[p.Type]; p.Title == "" {
		p.Title = http.StatusText(p.Status)
	}
	return p
}

// refusedTime is for what is left of a request that is refused.
const refusedTime = 2 * time.Second

// limitWrite gives up a client that does not take its answer in time: each holds what is written to it.
func limitWrite(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(streamStall)) // as above
}

// Refuse answers with the problem that an error is.
func Refuse(w http.ResponseWriter, err error) {
	// The server reads what is left of a body: from who never sends it, it would for ever.
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(refusedTime)) // a recorder in a test has none
	limitWrite(w)
	p := problemOf(err)
	text, _ := json.Marshal(p) // strings and numbers always can be written
	if p.Status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", "Bearer") // RFC 6750 §3
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(p.Status)
	_, _ = w.Write(append(text, '\n')) // fails only for a client that has gone
}

// StatusOf is the status of HTTP by which an error is answered.
func StatusOf(err error) int { return problemOf(err).Status }
