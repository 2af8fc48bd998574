package events

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/realmgate/realmgate/internal/events/settings"
	"github.com/realmgate/realmgate/internal/httperror"
)

const (
	// telegramPause is between two messages: a group takes 20 a minute of a bot.
	telegramPause = 10 * time.Second
	// telegramText is how long a message may be, in UTF-16 units (sendMessage of the Bot API).
	telegramText   = 4096
	telegramAnswer = 64 << 10 // octets of an answer that are read
	longestRetry   = time.Hour
)

// telegram sends lines as one message to a chat, by the method sendMessage of the Bot API. It is plain text: what strangers
// wrote is no markup.
type telegram struct {
	settings.Telegram
	limit  time.Duration
	client *http.Client
}

func newTelegram(t settings.Telegram) *telegram {
	return &telegram{t, answerTime, newClient()}
}

// telegramMessage is what sendMessage takes.
type telegramMessage struct {
	Chat    string `json:"chat_id"`
	Text    string `json:"text"`
	Preview struct {
		Disabled bool `json:"is_disabled"`
	} `json:"link_preview_options"` // no server fetches what strangers wrote
}

// telegramReply is what each method answers.
type telegramReply struct {
	OK          bool   `json:"ok"`
	Description string `json:"description"`
	Parameters  struct {
		RetryAfter int `json:"retry_after"` // seconds
	} `json:"parameters"`
}

// deliver implements outlet.
func (t *telegram) deliver(ctx context.Context, lines [][]byte, _ func(error)) (int, error) {
	if len(lines) == 0 {
		return 0, nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, t.limit, errSlow)
	defer cancel()
	message := telegramMessage{Chat: t.Chat, Text: digestOf(lines).text(telegramText)}
	message.Preview.Disabled = true
	body, err := json.Marshal(message)
	if err != nil {
		return 0, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, t.Server+"/bot"+t.Token+"/sendMessage", bytes.NewReader(body))
	if err != nil {
		return 0, httperror.WithoutAddress(err)
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := t.client.Do(request)
	if err != nil {
		return 0, httperror.Plain(ctx, err)
	}
	defer response.Body.Close()
	var reply telegramReply
	err = json.NewDecoder(io.LimitReader(response.Body, telegramAnswer)).Decode(&reply)
	switch {
	case err == nil && reply.OK && response.StatusCode == http.StatusOK:
		return len(lines), nil
	case err != nil:
		return 0, fmt.Errorf("the server answered %d %s, and not as the Bot API does", response.StatusCode, http.StatusText(response.StatusCode))
	}
	err = fmt.Errorf("the server answered %d: %s", response.StatusCode, printable(reply.Description))
	if wait := time.Duration(reply.Parameters.RetryAfter) * time.Second; wait > 0 {
		err = &laterError{err, min(wait, longestRetry)}
	}
	return 0, err
}

// ended implements outlet.
func (t *telegram) ended() <-chan struct{} { return nil }

// close implements outlet.
func (t *telegram) close(context.Context) error { return nil }

// laterError is a failure after which an outlet is not to be asked before so long.
type laterError struct {
	error
	wait time.Duration
}

func (e *laterError) Unwrap() error { return e.error }

// waitOf is how long an error wants to be waited for, at least least.
func waitOf(err error, least time.Duration) time.Duration {
	var later *laterError
	if errors.As(err, &later) {
		return max(later.wait, least)
	}
	return least
}
