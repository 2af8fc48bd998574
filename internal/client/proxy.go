package client

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httputil"
	"net/url"

	"github.com/realmgate/realmgate/internal/api"
)

// Proxy answers requests as the gateway does, which takes them for those of this process. Nothing that says who asked goes on.
func Proxy(c *Client, log *slog.Logger) http.Handler {
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: "http", Host: "realmgate"})
			for _, name := range []string{"Authorization", "Cookie", "Origin", "Referer"} {
				r.Out.Header.Del(name)
			}
		},
		Transport:     c.http.Transport,
		FlushInterval: -1, // each message of a stream at once
		ErrorLog:      slog.NewLogLogger(log.Handler(), slog.LevelDebug),
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			api.Refuse(w, api.Fail(http.StatusBadGateway, fmt.Errorf("ask the gateway: %w", c.unreachable(err))))
		},
	}
}
