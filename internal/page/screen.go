package page

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"slices"

	"github.com/realmgate/realmgate/internal/api"
)

//go:embed template/*.html
var templateFiles embed.FS

var templates = template.Must(template.New("").Funcs(template.FuncMap{
	"asset": func(name string) string { return assets().folder + "/" + name },
}).ParseFS(templateFiles, "template/*.html"))

// screen is one that has a path. Its template is template/NAME.html, which defines NAME, its script assets/screen/NAME.js.
type screen struct {
	Name   string
	Path   string
	Title  string
	Key    string // after g, on the keyboard
	Inside bool   // it is about hosts inside, of which a single machine has none
	Flows  bool   // it is about sessions, of which it has none without chains
	// Figures are what it shows where there is no script; nil: its template needs none.
	Figures func(get) (any, error)
}

// screens are all of them, in the order of the menu. Each has a file.
func screens() []screen {
	return []screen{now, ring, names, sessions, drops, chains, protection, edges, explain, configuration, gateway}
}

// get asks the API for a path, as who looks at the page, and decodes the answer.
type get func(path string, into any) error

// head is what all pages show.
type head struct {
	Title  string
	Theme  string // light or dark; empty: as the machine has it
	Name   string // of the screen
	Menu   []screen
	Caller api.Asking
	Status *api.Status // nil: it is not known
	Failed string      // why the API gave no figures
	Leaves bool        // there is a login to end

	Figures any
}

// Single reports whether the machine has nobody behind it.
func (h head) Single() bool { return h.Status != nil && h.Status.Single() }

// Shown are the screens of the menu.
func (h head) Shown() []screen {
	return slices.DeleteFunc(slices.Clone(h.Menu), func(s screen) bool { return h.Single() && (s.Inside || s.Flows && !h.Status.Flows()) })
}

// Well reports that nothing is wrong.
func (h head) Well() bool { return h.Status != nil && len(h.Status.Warnings) == 0 }

func themeOf(r *http.Request) string {
	if c, err := r.Cookie("theme"); err == nil && (c.Value == "light" || c.Value == "dark") {
		return c.Value
	}
	return ""
}

// show shows a screen to who may see it.
func (v *view) show(one screen) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if _, err := v.identify(r); err != nil {
			v.ask(w, r, api.StatusOf(err), err)
			return
		}
		h := head{Title: one.Title, Theme: themeOf(r), Name: one.Name, Menu: screens()}
		_, err := r.Cookie(cookieName(r))
		h.Leaves = err == nil
		ask := func(path string, into any) error { return v.get(r, path, into) }
		status := api.Status{}
		err = ask("/v1/caller", &h.Caller)
		if err == nil {
			err = ask("/v1/status", &status)
		}
		if err == nil {
			h.Status = &status
			if one.Figures != nil {
				h.Figures, err = one.Figures(ask)
			}
		}
		if err != nil {
			h.Failed = err.Error()
		}
		v.write(w, http.StatusOK, one.Name, h)
	}
}

// write writes a whole page, or none.
func (v *view) write(w http.ResponseWriter, status int, name string, data any) {
	var text bytes.Buffer
	if err := templates.ExecuteTemplate(&text, name, data); err != nil {
		api.Refuse(w, fmt.Errorf("write the page %s: %w", name, err))
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(text.Bytes()) // fails only for a client that has gone
}

// mostAnswer is the longest answer of the API that a page is made of.
const mostAnswer = 8 << 20

// get asks the API within this process.
func (v *view) get(r *http.Request, path string, into any) error {
	asks, err := http.NewRequestWithContext(r.Context(), http.MethodGet, "http://"+r.Host+path, http.NoBody) //nolint:gosec // nobody is dialled
	if err != nil {
		return err
	}
	for _, name := range []string{"Cookie", "Authorization"} {
		asks.Header[name] = r.Header[name]
	}
	asks.TLS, asks.RemoteAddr = r.TLS, r.RemoteAddr
	answer := &answer{head: http.Header{}, status: http.StatusOK}
	v.api.ServeHTTP(answer, asks)
	if answer.status != http.StatusOK {
		var p api.Problem
		if err := json.Unmarshal(answer.text.Bytes(), &p); err != nil {
			return fmt.Errorf("ask for %s: status %d", path, answer.status)
		}
		return fmt.Errorf("%s: %s", p.Title, p.Detail)
	}
	if err := json.Unmarshal(answer.text.Bytes(), into); err != nil {
		return fmt.Errorf("read the answer of %s: %w", path, err)
	}
	return nil
}

// answer is an http.ResponseWriter that keeps the answer.
type answer struct {
	head   http.Header
	status int
	text   bytes.Buffer
}

func (a *answer) Header() http.Header { return a.head }

func (a *answer) WriteHeader(status int) { a.status = status }

func (a *answer) Write(text []byte) (int, error) {
	if a.text.Len()+len(text) > mostAnswer {
		return 0, fmt.Errorf("the answer is longer than %d octets", mostAnswer)
	}
	return a.text.Write(text)
}
