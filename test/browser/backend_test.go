package browser

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/realmgate/realmgate/internal/lab/netns"
)

// resources is how many a page fetches at least, over all its origins in turn.
const resources = 60

// origin is where a page fetches from, and the host that has to answer.
type origin struct{ url, host string }

// page is what the back end gives at /page: it fetches its resources and leaves
// in window.visit the promise of what came of it, and when, since somebody went there. Origins are in the address:
// /page?http://a.foo.example=host1&...
const page = `<!doctype html><meta charset="utf-8"><title>%[1]s</title>
<script>
const origins = location.search.slice(1).split("&").map(pair => pair.split("="));
window.visit = (async () => {
  const all = [];
  for (let i = 0; i < Math.max(%[2]d, origins.length); i++) {
    const [url, host] = origins[i %% origins.length];
    all.push(fetch(url + "/resource/" + i + "?" + Math.random(), {cache: "no-store"})
      .then(r => r.text()).then(text => ({url, host, text: text.trim()}), error => ({url, host, error: String(error)})));
  }
  const got = await Promise.all(all);
  const wrong = got.filter(g => g.text !== undefined && g.text !== g.host);
  const failed = got.filter(g => g.error !== undefined);
  return JSON.stringify({
    host: %[1]q, milliseconds: performance.now(), complete: got.length - failed.length,
    wrong: wrong.length, failed: failed.length,
    sample: wrong.concat(failed).slice(0, 3).map(g => g.url + ": " + (g.error || "answered by " + g.text)),
  });
})();
</script>`

// pageURL is the address of the page, which the first of its origins has. at is
// that origin as somebody types it, where a browser makes https of http.
func pageURL(at string, origins []origin) string {
	if at == "" {
		at = origins[0].url
	}
	var pairs []string
	for _, o := range origins {
		pairs = append(pairs, o.url+"="+o.host)
	}
	return at + "/page?" + strings.Join(pairs, "&")
}

// backend answers everything with the name of its host.
func backend(host string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Access-Control-Allow-Origin", "*")
		w.Header().Set("Cache-Control", "no-store")
		if r.URL.Path == "/page" {
			w.Header().Set("Content-Type", "text/html")
			_, _ = fmt.Fprintf(w, page, host, resources)
			return
		}
		w.Header().Set("Content-Type", "text/plain")
		_, _ = fmt.Fprintln(w, host)
	})
}

// webHost makes a node a web server whose answers bear its name: nginx on the
// two ports, before a back end. It serves names with certificates of their own,
// and all others with the certificate called other. A host has the certificates
// of all, so that who reaches the wrong one sees its name and no error.
func (w *world) webHost(node netns.Node, host string, http80, https443 int, certificates *certifier, other string, own ...string) {
	w.t.Helper()
	listener, err := node.Listen("tcp4", "127.0.0.1:9000")
	if err != nil {
		w.t.Fatal(err)
	}
	server := &http.Server{Handler: backend(host), ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(listener) }()
	w.t.Cleanup(func() { _ = server.Close() })
	entry := func(name, certificate string) string {
		return fmt.Sprintf(`  server {
    listen %d; listen %d ssl http2;
    server_name %s;
    ssl_certificate %s; ssl_certificate_key %s;
    location / { proxy_pass http://127.0.0.1:9000; }
  }
`, http80, https443, name, certificates.path(certificate+".pem"), certificates.path(certificate+".key"))
	}
	entries := []string{entry("_", other)}
	for _, name := range own {
		entries = append(entries, entry(name, name))
	}
	w.nginx(node, entries...)
}
