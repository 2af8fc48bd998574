package events

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"github.com/realmgate/realmgate/internal/events/event"
)

// record is an event of which it is known when it happened.
type record struct {
	time     time.Time
	instance string
	sequence uint64
	event    event.Event
}

// header is how every line begins.
type header struct {
	Time     string `json:"time"` // RFC 3339, UTC, with milliseconds
	Kind     string `json:"kind"`
	Instance string `json:"instance"`
	Sequence uint64 `json:"sequence"`       // of all events since the daemon's start, from 1, selected or not
	Lost     uint64 `json:"lost,omitempty"` // events that this sink lost just before this one
}

// line returns a JSON object, without the end of the line.
func (r *record) line(lost uint64) ([]byte, error) {
	h := header{r.time.UTC().Format("2006-01-02T15:04:05.000Z07:00"), r.event.Kind().String(), r.instance, r.sequence, lost}
	begin, err := object(h)
	if err != nil {
		return nil, err
	}
	rest, err := object(r.event)
	if err != nil {
		return nil, err
	}
	if len(rest) == len("{}") {
		return begin, nil
	}
	begin[len(begin)-1] = ','
	return append(begin, rest[1:]...), nil
}

// object is value in JSON, with < and > as they are.
func object(value any) ([]byte, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, fmt.Errorf("write an event: %w", err)
	}
	return bytes.TrimSuffix(text.Bytes(), []byte("\n")), nil
}
