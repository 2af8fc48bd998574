package page

import (
	"errors"
	"net/http"
	"time"

	"github.com/realmgate/realmgate/internal/api"
)

const (
	mostForm = 4096             // octets
	formTime = 10 * time.Second // for a form to arrive: strangers send them
)

var (
	errLink = errors.New("this link has been used, or is older than a minute")
	errForm = errors.New("the form did not come whole: try again")
)

// Link is a path that lets a caller in, once, within a minute.
func (s *Site) Link(c api.Caller) string { return "/enter?key=" + s.links.make(c) }

// enter lets in who has a link.
func (v *view) enter(w http.ResponseWriter, r *http.Request) {
	c, ok := v.site.links.use(r.URL.Query().Get("key"))
	if !ok {
		v.ask(w, r, http.StatusForbidden, errLink)
		return
	}
	v.welcome(w, r, c)
}

// login lets in who has a token.
func (v *view) login(w http.ResponseWriter, r *http.Request) {
	if !v.site.Tokens {
		http.NotFound(w, r)
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, mostForm)
	read := http.NewResponseController(w)
	_ = read.SetReadDeadline(time.Now().Add(formTime)) // a recorder in a test has none
	if err := r.ParseForm(); err != nil {              // the deadline stays: what else is on its way is not waited for
		v.ask(w, r, http.StatusBadRequest, errForm)
		return
	}
	_ = read.SetReadDeadline(time.Time{})
	asks := r.Clone(r.Context())
	asks.Header.Set("Authorization", "Bearer "+r.PostFormValue("token"))
	c, err := v.who(asks)
	if err != nil {
		v.ask(w, r, api.StatusOf(err), err)
		return
	}
	v.welcome(w, r, c)
}

// welcome gives a cookie. A redirect would come from where the link was followed, and browsers send no strict cookie from
// another site: so a page of our own leads on.
func (v *view) welcome(w http.ResponseWriter, r *http.Request, c api.Caller) {
	http.SetCookie(w, cookie(r, v.site.visits.begin(c), int(visitTime.Seconds())))
	w.Header().Set("Refresh", "0;url=/")
	v.write(w, http.StatusOK, "welcome", head{Title: "Welcome", Theme: themeOf(r)})
}

func (v *view) logout(w http.ResponseWriter, r *http.Request) {
	if c, err := r.Cookie(cookieName(r)); err == nil {
		v.site.visits.leave(c.Value)
	}
	http.SetCookie(w, cookie(r, "", -1))
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

// ask asks who it is, and says why it does not know.
func (v *view) ask(w http.ResponseWriter, r *http.Request, status int, why error) {
	v.write(w, status, "login", struct {
		head
		Tokens bool
		Why    string
	}{head{Title: "Log in", Theme: themeOf(r)}, v.site.Tokens, sentence(r, why)})
}

// sentence is why somebody is not let in; who asks for the first time has done nothing wrong.
func sentence(r *http.Request, why error) string {
	if r.Method == http.MethodGet && !errors.Is(why, errLink) {
		return ""
	}
	return why.Error()
}
