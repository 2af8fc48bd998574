package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/lab/netns"
)

// chat is a server that takes messages as Telegram's does, of one bot.
type chat struct {
	mutex sync.Mutex
	texts []string
}

func (c *chat) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var message struct {
		Chat string `json:"chat_id"`
		Text string `json:"text"`
	}
	if err := json.NewDecoder(r.Body).Decode(&message); err != nil || r.URL.Path != "/bot42:token/sendMessage" || message.Chat != "-1001" {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = fmt.Fprint(w, `{"ok":false,"error_code":400,"description":"Bad Request: chat not found"}`)
		return
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.texts = append(c.texts, message.Text)
	_, _ = fmt.Fprint(w, `{"ok":true,"result":{}}`)
}

func (c *chat) has(text string) bool {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return strings.Contains(strings.Join(c.texts, "\n"), text)
}

// Who guesses passwords at a mail server on a single machine is banned by Dovecot's log, and a chat is told. A user's name in
// that log has nobody else banned.
func TestSingleMachineTellsAChat(t *testing.T) {
	t.Parallel()
	r := newRealm(t, netns.Options{Clients: 2})
	guesser, friend := r.Clients[0], r.Clients[1]
	log, token := filepath.Join(r.directory, "dovecot.log"), filepath.Join(r.directory, "bot.token")
	if err := os.WriteFile(token, []byte("42:token\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	listener, err := r.Gateway.Listen("tcp4", "127.0.0.1:8443") // as a Bot API server of one's own
	if err != nil {
		t.Fatal(err)
	}
	c := &chat{}
	server := &http.Server{Handler: c, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	d := r.start(fmt.Sprintf(`interfaces: {public: [%s]}
jails:
  - {name: imap, file: %s, patterns: [dovecot], maxretry: 3}
events:
  - {name: chat, telegram: {token_file: %s, chat: -1001, server: "http://%s"}, kinds: [ban]}
`, r.Gateway.Public[0], log, token, listener.Addr()))
	j := journal{d, log}.watched()
	for n := range 3 {
		j.write(fmt.Sprintf("2026-11-30 15:50:0%d imap-login: Info: Disconnected: Connection closed (auth failed, 1 attempts in 2 secs): "+
			"user=<x>, method=PLAIN, rip=%s, lip=192.0.2.25, session=<x>>, method=PLAIN, rip=%s, lip=192.0.2.25, secured, session=<K12TXIBhRIZ/AAAB>\n", n, friend.IP, guesser.IP))
	}
	j.mustBecomeBanned(guesser.IP)
	eventually(t, 20*time.Second, "the chat is told", func() bool { return c.has("ban prefixes=" + guesser.IP.String() + "/32") })
	if _, banned := j.banned(friend.IP); banned || c.has(friend.IP.String()) {
		t.Error("a friend is banned by a user's name")
	}
	if out, err := d.tell("events"); err != nil || !strings.Contains(out, "Telegram chat -1001") || strings.Contains(out, "token") {
		t.Errorf("%v: %s", err, out)
	}
	if status := d.status(); len(status.Warnings) > 0 || status.Health != "All is well: 1 ban." {
		t.Errorf("%q, it warns of %q", status.Health, status.Warnings)
	}
}
