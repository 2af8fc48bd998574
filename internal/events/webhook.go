package events

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/realmgate/realmgate/internal/httperror"
)

// answerTime is how long a request may take, from the name's look-up to the answer's header.
const answerTime = 10 * time.Second

var errSlow = fmt.Errorf("the server took longer than %v", answerTime)

// webhook posts lines as a JSON array. It goes through no proxy, follows no redirection and
// reads nothing of an answer but its header.
type webhook struct {
	url    string
	limit  time.Duration
	client *http.Client
}

func newWebhook(address string) *webhook { return &webhook{address, answerTime, newClient()} }

// newClient is for requests that are far apart.
func newClient() *http.Client {
	return &http.Client{
		// Whoever answers must not choose where the events go.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			DialContext:            (&net.Dialer{Timeout: answerTime / 2}).DialContext, // leaves some for the next address
			ForceAttemptHTTP2:      true,                                               // a dialer of one's own would turn it off
			DisableKeepAlives:      true,                                               // the next event may be far
			MaxResponseHeaderBytes: 64 << 10,
		},
	}
}

// deliver implements outlet.
func (w *webhook) deliver(ctx context.Context, lines [][]byte, _ func(error)) (int, error) {
	if len(lines) == 0 {
		return 0, nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, w.limit, errSlow)
	defer cancel()
	body := append(append([]byte("["), bytes.Join(lines, []byte(",\n"))...), "]\n"...)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", "realmgate")
	response, err := w.client.Do(request)
	if err != nil {
		return 0, httperror.Plain(ctx, err)
	}
	_ = response.Body.Close() // of which nothing is wanted
	status := response.StatusCode
	switch status / 100 {
	case 2:
		return len(lines), nil
	case 3:
		return 0, fmt.Errorf("the server answered %d %s: redirections are not followed, give the address itself", status, http.StatusText(status))
	default:
		return 0, fmt.Errorf("the server answered %d %s", status, http.StatusText(status))
	}
}

// ended implements outlet.
func (w *webhook) ended() <-chan struct{} { return nil }

// close implements outlet.
func (w *webhook) close(context.Context) error { return nil }
