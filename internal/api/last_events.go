package api

import (
	"encoding/json"
	"net/http"
	"net/url"
)

// mostLast is how many events are remembered for who comes later.
const mostLast = 20

// LastEvents are what sinks were told lately, each as they are.
type LastEvents struct {
	Items []json.RawMessage `json:"items"` // the last first, twenty at most
}

func (h handler) lastEvents(w http.ResponseWriter, _ *http.Request, query url.Values) error {
	if err := wantNone(query); err != nil {
		return err
	}
	last := LastEvents{[]json.RawMessage{}}
	for _, m := range h.gateway.Lately(mostLast, "bans", "events") {
		last.Items = append(last.Items, m.Data)
	}
	return reply(w, http.StatusOK, last)
}
