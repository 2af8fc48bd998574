package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"sync"
	"time"

	"golang.org/x/net/websocket"

	"github.com/realmgate/realmgate/internal/lab/netns"
)

// ErrClosed says that the browser has closed its end, most often by dying.
var ErrClosed = errors.New("the browser's connection is closed")

// Wire is a connection to a browser: calls and their answers, JSON in frames of
// a WebSocket. Of events the reasons of loads that failed are kept, and the rest is told. It may be used by several goroutines.
type Wire struct {
	socket *websocket.Conn

	mutex   sync.Mutex
	last    int
	waiting map[int]chan answer
	closed  bool
	failed  map[string]int // reason → loads
	hears   func(Event)
}

// call is a call in the words of both protocols.
type call struct {
	ID      int    `json:"id"`
	Session string `json:"sessionId,omitempty"` // CDP: the tab
	Method  string `json:"method"`
	Params  any    `json:"params"`
}

// answer is an answer, or an event where ID is 0. In CDP Error is an object
// with a message, in BiDi a word beside Message.
type answer struct {
	ID      int             `json:"id"`
	Result  json.RawMessage `json:"result"`
	Error   json.RawMessage `json:"error"`
	Message string          `json:"message"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
}

// Event is what a browser tells by itself.
type Event struct {
	Method string
	Params json.RawMessage
}

// errorText is why a load has failed (CDP's Network.loadingFailed); empty in other events.
func (a *answer) errorText() string {
	var params struct {
		ErrorText string `json:"errorText"`
	}
	_ = json.Unmarshal(a.Params, &params) // BiDi's events have lists too
	return params.ErrorText
}

// Dial connects from inside the browser's namespace.
func Dial(ctx context.Context, from *netns.Namespace, address, path string) (*Wire, error) {
	connection, err := from.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	config := &websocket.Config{
		Version:  websocket.ProtocolVersionHybi13,
		Location: &url.URL{Scheme: "ws", Host: address, Path: path},
		Origin:   &url.URL{Scheme: "http", Host: address},
	}
	deadline, _ := ctx.Deadline() // none is the zero time to both
	_ = connection.SetDeadline(deadline)
	socket, err := websocket.NewClient(config, connection)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open ws://%s%s: %w", address, path, err), connection.Close())
	}
	_ = connection.SetDeadline(time.Time{})
	socket.MaxPayloadBytes = 16 << 20
	w := &Wire{socket: socket, waiting: map[int]chan answer{}, failed: map[string]int{}}
	go w.listen()
	return w, nil
}

func (w *Wire) listen() {
	for {
		var a answer
		if err := websocket.JSON.Receive(w.socket, &a); err != nil {
			break
		}
		w.mutex.Lock()
		if waiter := w.waiting[a.ID]; waiter != nil {
			delete(w.waiting, a.ID)
			waiter <- a
		} else if text := a.errorText(); text != "" {
			w.failed[text]++
		}
		hears := w.hears
		w.mutex.Unlock()
		if a.ID == 0 && hears != nil {
			hears(Event{a.Method, a.Params})
		}
	}
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.closed = true
	for _, waiter := range w.waiting {
		close(waiter)
	}
	clear(w.waiting)
}

// Hear has each event told from now on, one at a time; whoever hears must not wait.
func (w *Wire) Hear(hears func(Event)) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.hears = hears
}

// Close closes the connection.
func (w *Wire) Close() { _ = w.socket.Close() }

// Failures are the reasons why loads have failed since the last call, where the browser was asked to tell.
func (w *Wire) Failures() string {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	text := fmt.Sprint(w.failed)
	clear(w.failed)
	return text
}

// Call calls a method, of a tab where session is not empty, and decodes what it
// returns into result where that is not nil.
func (w *Wire) Call(ctx context.Context, session, method string, params, result any) error {
	waiter := make(chan answer, 1)
	w.mutex.Lock()
	if w.closed {
		w.mutex.Unlock()
		return ErrClosed
	}
	w.last++
	id := w.last
	w.waiting[id] = waiter
	err := websocket.JSON.Send(w.socket, call{ID: id, Session: session, Method: method, Params: params})
	w.mutex.Unlock()
	if err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	select {
	case a, ok := <-waiter:
		if !ok {
			return ErrClosed
		}
		if len(a.Error) > 0 {
			return fmt.Errorf("%s: %s %s", method, a.Error, a.Message)
		}
		if result == nil {
			return nil
		}
		return json.Unmarshal(a.Result, result)
	case <-ctx.Done():
		w.mutex.Lock()
		delete(w.waiting, id)
		w.mutex.Unlock()
		return fmt.Errorf("%s: %w", method, ctx.Err())
	}
}
