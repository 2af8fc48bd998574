package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/realmgate/realmgate/internal/model"
)

// MostSnap is how much of a packet can be captured, in bytes.
const MostSnap = 65535

// CaptureRequest says what to capture.
type CaptureRequest struct {
	Chain    string
	Function string // of the chain; empty: each that copies packets
	Snap     int    // bytes of a packet at most, 1 to MostSnap
}

// Packet is a copy of a packet that a function of a chain told to take, or of one that was dropped.
type Packet struct {
	Time      time.Time   `json:"time"`
	Interface string      `json:"interface"`      // by which it came in, or was to leave
	Sent      bool        `json:"sent,omitempty"` // it was to leave
	Function  string      `json:"function"`       // that told to take it, empty of a drop
	Direction string      `json:"direction"`      // of its flow: in or out; empty of a drop
	Tuple     model.Tuple `json:"tuple"`          // as chains see it: a private host stands by its own address
	Length    int         `json:"length"`         // of the frame
	Data      []byte      `json:"data"`           // its beginning, as it came in
	Lost      uint64      `json:"lost"`           // by this capture, until now
	Comment   string      `json:"comment"`        // the reason, or the function, and after a semicolon the same in words
}

// Absent is why a request can have nothing: what it names is not there.
type Absent string

func (a Absent) Error() string { return string(a) }

// Query returns what parseCapture reads.
func (r CaptureRequest) Query() url.Values {
	query := url.Values{"chain": {r.Chain}, "snap": {strconv.Itoa(r.Snap)}}
	if r.Function != "" {
		query.Set("function", r.Function)
	}
	return query
}

func captureParameters() []Parameter {
	return []Parameter{
		{Name: "chain", Short: "Of the functions that copy packets.", Required: true},
		{Name: "function", Short: "One of them; without it all."},
		{Name: "snap", Short: fmt.Sprintf("Bytes of a packet at most: 1 to %d.", MostSnap), Integer: true},
	}
}

// parseCapture wants the parameter chain, and may have function and snap.
func parseCapture(query url.Values) (r CaptureRequest, err error) {
	r.Snap = MostSnap
	err = setEach(query, "parameter", func(key, value string) (err error) {
		switch key {
		case "chain":
			r.Chain = value
		case "function":
			r.Function = value
		case "snap":
			if r.Snap, err = strconv.Atoi(value); err != nil || r.Snap < 1 || r.Snap > MostSnap {
				return fmt.Errorf("snap %q: use 1 to %d bytes", value, MostSnap)
			}
		default:
			return fmt.Errorf("unknown parameter %q: use chain, function, snap", key)
		}
		return nil
	})
	if err == nil && r.Chain == "" {
		return r, errors.New("the parameter chain is missing")
	}
	return r, err
}

func (h handler) capture(w http.ResponseWriter, r *http.Request, query url.Values) error {
	request, err := parseCapture(query)
	if err != nil {
		return failed(err)
	}
	return packets(w, r, func(started func(), visit func([]Packet) bool) error {
		return h.gateway.Capture(r.Context(), request, started, visit)
	})
}

func (h handler) captureDrops(w http.ResponseWriter, r *http.Request, query url.Values) error {
	if err := wantNone(query); err != nil {
		return err
	}
	return packets(w, r, func(started func(), visit func([]Packet) bool) error {
		return h.gateway.CaptureDrops(r.Context(), started, visit)
	})
}

// packets answers with what a capture has, until its end.
func packets(w http.ResponseWriter, r *http.Request, capture func(started func(), visit func([]Packet) bool) error) error {
	s := newStream(w, r)
	err := capture(func() { s.flush() }, func(packets []Packet) bool {
		for _, p := range packets {
			if !s.add(p) {
				return false
			}
		}
		return s.flush()
	})
	var absent Absent
	switch {
	case errors.As(err, &absent):
		err = failure{http.StatusNotFound, err}
	case err == nil || errors.Is(err, context.Canceled):
		err = errStopping // a live stream has no other end
	default:
		err = fmt.Errorf("capture: %w", err)
	}
	return s.finish(err)
}
