package events

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/realmgate/realmgate/internal/events/settings"
)

const botToken = "110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw"

// bot is a server that answers as the Bot API does (core.telegram.org/bots/api): the token is in the path, a reply is JSON with a
// description, and what a chat does not take is refused with what is wrong.
type bot struct {
	*httptest.Server
	mutex sync.Mutex
	texts []string
	busy  int // answers of 429 that are left
}

func newBot(t *testing.T) *bot {
	b := &bot{}
	b.Server = httptest.NewServer(http.HandlerFunc(b.serve))
	t.Cleanup(b.Close)
	return b
}

func (b *bot) serve(w http.ResponseWriter, r *http.Request) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	var message struct {
		Chat      string `json:"chat_id"`
		Text      string `json:"text"`
		ParseMode string `json:"parse_mode"`
		Preview   struct {
			Disabled bool `json:"is_disabled"`
		} `json:"link_preview_options"`
	}
	refuse := func(status int, description string, more string) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = fmt.Fprintf(w, `{"ok":false,"error_code":%d,"description":%q%s}`, status, description, more)
	}
	switch err := json.NewDecoder(r.Body).Decode(&message); {
	case r.URL.Path != "/bot"+botToken+"/sendMessage":
		refuse(401, "Unauthorized", "")
	case err != nil || r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/json":
		refuse(400, "Bad Request: can't parse JSON object", "")
	case message.Chat != "-1001234567890":
		refuse(400, "Bad Request: chat not found", "")
	case message.ParseMode != "" && strings.ContainsAny(message.Text, "<_*["):
		refuse(400, "Bad Request: can't parse entities: Can't find end of the entity starting at byte offset 3", "")
	case strings.TrimSpace(message.Text) == "":
		refuse(400, "Bad Request: message text is empty", "")
	case len(utf16.Encode([]rune(message.Text))) > 4096:
		refuse(400, "Bad Request: message is too long", "")
	case !message.Preview.Disabled:
		refuse(400, "this test wants no previews", "")
	case b.busy > 0:
		b.busy--
		refuse(429, "Too Many Requests: retry after 35", `,"parameters":{"retry_after":35}`)
	default:
		b.texts = append(b.texts, message.Text)
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"ok":true,"result":{"message_id":%d}}`, len(b.texts))
	}
}

func (b *bot) to(chat string) *telegram {
	return newTelegram(settings.Telegram{Token: botToken, Chat: chat, Server: b.URL})
}

// What strangers wrote is text and no markup, one message takes all, and none is too long.
func TestTelegramTellsAChat(t *testing.T) {
	t.Parallel()
	b := newBot(t)
	for _, lines := range [][][]byte{
		lined(t, 0, banned("198.51.100.7", "jail web: <b>*x_ [y](http://evil.example)")),
		lined(t, 3, banned("198.51.100.7", "a"), banned("198.51.100.8", strings.Repeat("🙂", 9000))),
	} {
		if n, err := b.to("-1001234567890").deliver(t.Context(), lines, nil); n != len(lines) || err != nil {
			t.Fatalf("%d of %d: %v", n, len(lines), err)
		}
	}
	if len(b.texts) != 2 || !strings.Contains(b.texts[0], "<b>*x_ [y](http://evil.example)") || !strings.HasPrefix(b.texts[1], "2 events: 2 ban; 3 more were lost\n") {
		t.Errorf("%q", b.texts)
	}
}

// A refusal says what Telegram says, and never the token. One that names a time is not asked before.
func TestTelegramIsRefused(t *testing.T) {
	t.Parallel()
	b := newBot(t)
	b.busy = 1
	wrong := b.to("-1001234567890")
	wrong.Token = "1:secret"
	page := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(page.Close)
	other, gone := b.to("-1001234567890"), b.to("-1001234567890")
	other.Server = page.URL
	gone.Server = "http://127.0.0.1:1"
	for want, c := range map[string]struct {
		to   *telegram
		wait time.Duration
	}{
		"the server answered 401: Unauthorized":                          {wrong, time.Second},
		"the server answered 400: Bad Request: chat not found":           {b.to("@nobody"), time.Second},
		"the server answered 429: Too Many Requests: retry after 35":     {b.to("-1001234567890"), 35 * time.Second},
		"the server answered 404 Not Found, and not as the Bot API does": {other, time.Second},
		"dial tcp 127.0.0.1:1: connect: connection refused":              {gone, time.Second},
	} {
		n, err := c.to.deliver(t.Context(), lined(t, 0, banned("198.51.100.7", "a")), nil)
		if n != 0 || err == nil || err.Error() != want || waitOf(err, time.Second) != c.wait {
			t.Errorf("%d, %v, to wait %v, want %q and %v", n, err, waitOf(err, time.Second), want, c.wait)
		}
		if err != nil && (strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), botToken)) {
			t.Errorf("it tells the token: %v", err)
		}
	}
	if wait := waitOf(errors.New("other"), time.Second); wait != time.Second {
		t.Error(wait)
	}
}
