package api

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Topics of what can be listened to, with the role that each takes.
var topics = map[string]Role{"bans": Read, "drops": Operate, "events": Read, "names": Read, "pool": Read, "sessions": Read, "status": Read}

// commentEvery is how long nothing is said to a listener, so that those between do not take the connection for dead.
const commentEvery = 15 * time.Second

// StreamCommands are those about what happens.
type StreamCommands interface {
	// Listen has a caller listen to topics from now on, or from the message after the last one that was heard, by its ID.
	Listen(c Caller, topics []string, last string) (Listener, error)
	// Lately are the last messages of some topics, the newest first.
	Lately(most int, topics ...string) []Message
}

// Listener is one who listens. Close it.
type Listener interface {
	// Next waits for something to hear, or for the end of ctx.
	Next(ctx context.Context) (Told, error)
	ID(Message) string
	Close()
}

// Told is what comes next, in this order.
type Told struct {
	Reset    bool   // what came after the last message that was heard is not known: ask for all anew
	Lost     uint64 // messages of these topics that came too fast
	Messages []Message
}

// Message is what was told of a topic.
type Message struct {
	Number uint64 // above those of all messages before
	Topic  string
	Data   []byte // JSON, in one line
}

func streamParameters() []Parameter {
	return []Parameter{{Name: "topics", Required: true, Short: "Some of bans, drops, events, names, pool, sessions and status, with commas between. drops takes the role operate."}}
}

// stream answers as the HTML standard has it (9.2, server-sent events).
func (h handler) stream(w http.ResponseWriter, r *http.Request, query url.Values) error {
	c := callerOf(r.Context())
	wanted, err := wantTopics(query, c)
	if err != nil {
		return err
	}
	l, err := h.gateway.Listen(c, wanted, r.Header.Get("Last-Event-ID"))
	if err != nil {
		return err
	}
	defer l.Close()
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	out := &eventWriter{w: bufio.NewWriter(w), conn: http.NewResponseController(w)}
	out.comment() // the client learns that it is heard
	for out.err == nil {
		wait, cancel := context.WithTimeout(r.Context(), commentEvery)
		told, err := l.Next(wait)
		cancel()
		switch {
		case r.Context().Err() != nil:
			return nil // the client has gone, or may ask no more, or the gateway stops
		case errors.Is(err, context.DeadlineExceeded):
			out.comment()
		case err != nil:
			return nil
		default:
			out.told(l, told)
		}
	}
	return nil
}

func wantTopics(query url.Values, c Caller) ([]string, error) {
	text, err := take(query, "topics")
	if err != nil {
		return nil, failed(err)
	}
	if err := wantNone(query); err != nil {
		return nil, err
	}
	wanted := strings.Split(text, ",")
	slices.Sort(wanted)
	for _, topic := range wanted {
		takes, known := topics[topic]
		if !known {
			return nil, failed(fmt.Errorf("topics: %q is none: use bans, drops, events, names, pool, sessions, status", topic))
		}
		if c.Role < takes {
			return nil, refuse(c, takes)
		}
	}
	return slices.Compact(wanted), nil
}

// eventWriter writes messages; what it writes is sent at once.
type eventWriter struct {
	w    *bufio.Writer
	conn *http.ResponseController
	err  error // the first: the client has gone, or takes nothing
}

func (e *eventWriter) comment() {
	_, _ = e.w.WriteString(":\n\n") // a bufio.Writer keeps its error for Flush
	e.flush()
}

func (e *eventWriter) told(l Listener, told Told) {
	if told.Reset {
		_, _ = e.w.WriteString("event: reset\ndata: {}\n\n")
	}
	if told.Lost > 0 {
		_, _ = fmt.Fprintf(e.w, "event: lost\ndata: {\"messages\":%d}\n\n", told.Lost)
	}
	for _, m := range told.Messages {
		e.members("id: ", l.ID(m), "\nevent: ", m.Topic, "\ndata: ")
		_, _ = e.w.Write(bytes.TrimSpace(m.Data))
		e.members("\n\n")
	}
	e.flush()
}

func (e *eventWriter) members(texts ...string) {
	for _, text := range texts {
		_, _ = e.w.WriteString(text)
	}
}

func (e *eventWriter) flush() {
	_ = e.conn.SetWriteDeadline(time.Now().Add(streamStall)) // a recorder in a test has none
	if e.err = e.w.Flush(); e.err == nil {
		_ = e.conn.Flush()
	}
}
