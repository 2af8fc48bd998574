package browser

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// patience is how long a visit may take at all.
const patience = 25 * time.Second

// visitor is a browser that visits one page again and again, after pauses.
type visitor struct {
	who     string   // "Chromium ..." or "Firefox ..."
	at      string   // the page's origin as it is typed; the first origin without it
	origins []origin // of the page and its resources; the first has the page
	upgrade bool     // try https where the page's address says http
	pauses  []int    // seconds
}

// prepare starts the visitor's browser on a machine of its own.
func (v visitor) prepare(m *machine, certificates *certifier) (tab, error) {
	if err := certificates.trust(m); err != nil {
		return nil, err
	}
	if kind(v.who) == "Firefox" {
		return newFirefox(m, v.upgrade)
	}
	return newChromium(m, v.upgrade)
}

// visit visits the page, and again after each pause, each time followed by the same
// without the gateway. One such visit has come before: a browser's first
// loads what it needs for the rest, and would be compared with what need not.
func (v visitor) visit(t tab, all *tally) {
	what := "at first"
	for i := 0; ; i++ {
		o := look(t, pageURL(v.at, v.origins), v.origins[0].host, resources)
		o.who, o.what = v.who, what
		all.add(o)
		v.visitDirect(t, all)
		if i == len(v.pauses) {
			return
		}
		pause := time.Duration(v.pauses[i]) * time.Second
		what = "after " + pause.String()
		time.Sleep(pause - time.Since(o.at.Add(o.took)))
	}
}

func (v visitor) visitDirect(t tab, all *tally) {
	o := look(t, pageURL("", v.direct()), "direct", resources)
	o.who = v.who
	all.addDirect(o)
}

// direct is the visitor's page with the names that need no gateway.
func (v visitor) direct() []origin {
	var origins []origin
	for i, o := range v.origins {
		scheme, _, _ := strings.Cut(o.url, ":")
		name := strings.TrimSuffix(directNames[i%len(directNames)], ".")
		origins = append(origins, origin{scheme + "://" + name, "direct"})
	}
	return origins
}

// waitVisit waits for the page's script and for what came of its resources.
const waitVisit = `new Promise(done => { const look = () => window.visit ? window.visit.then(done) : setTimeout(look, 10); look(); })`

// look opens a page and waits for all its resources, of which there are so many. host is whose page it is.
func look(t tab, url, host string, count int) outcome {
	ctx, cancel := context.WithTimeout(background, patience)
	defer cancel()
	o := outcome{at: time.Now()}
	var got struct {
		Host                    string
		Milliseconds            float64
		Complete, Wrong, Failed int
		Sample                  []string
	}
	t.Failures()
	err := t.open(ctx, url)
	if err == nil {
		var text string
		if text, err = t.evaluate(ctx, waitVisit); err == nil {
			err = json.Unmarshal([]byte(text), &got)
		}
	}
	o.took = time.Since(o.at)
	if err != nil {
		o.failed, o.detail = true, err.Error()
		return o
	}
	o.wrong = got.Wrong > 0 || got.Host != host
	o.failed = got.Failed > 0 || got.Complete+got.Failed != count
	o.loaded = time.Duration(got.Milliseconds * float64(time.Millisecond))
	if o.wrong || o.failed {
		o.detail = fmt.Sprintf("page by %s, %d right or wrong, %d of them wrong, %d failed: %s; the browser's reasons: %s",
			got.Host, got.Complete, got.Wrong, got.Failed, strings.Join(got.Sample, "; "), t.Failures())
	}
	return o
}
