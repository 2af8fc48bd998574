package model

// EventKind says what an event is about; docs/reference/events.md has every one.
type EventKind string

// What is told to the sinks of events.
const (
	EventStart          EventKind = "start"
	EventStop           EventKind = "stop"
	EventReload         EventKind = "reload"
	EventBan            EventKind = "ban"
	EventUnban          EventKind = "unban"
	EventListFailed     EventKind = "list_failed"
	EventListRecovered  EventKind = "list_recovered"
	EventPoolExhausted  EventKind = "pool_exhausted"
	EventPoolRecovered  EventKind = "pool_recovered"
	EventOutbound       EventKind = "outbound_changed"
	EventWatchFailed    EventKind = "watch_failed"
	EventWatchRecovered EventKind = "watch_recovered"
)

// EventKinds returns all of them.
func EventKinds() []EventKind {
	return []EventKind{
		EventStart, EventStop, EventReload, EventBan, EventUnban, EventListFailed, EventListRecovered,
		EventPoolExhausted, EventPoolRecovered, EventOutbound, EventWatchFailed, EventWatchRecovered,
	}
}

// String returns the word used in the file and in events.
func (k EventKind) String() string { return string(k) }
