package page

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/lab/netns"
	"github.com/realmgate/realmgate/test/wire"
)

const (
	startLimit = 3 * time.Minute // a machine that compiles beside it may take one
	callLimit  = 30 * time.Second
)

// flags keep Chromium off the network, and its pages as fast in the background as before a person.
var flags = []string{
	"--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--no-default-browser-check",
	"--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-default-apps", "--disable-extensions",
	"--disable-breakpad", "--no-pings", "--password-store=basic", "--mute-audio", "--disable-search-engine-choice-screen",
	"--disable-background-timer-throttling", "--disable-renderer-backgrounding", "--disable-backgrounding-occluded-windows",
	"--hide-scrollbars", "--force-prefers-no-reduced-motion", "--lang=en", "--remote-debugging-port=0", "--remote-allow-origins=*",
}

// browser is a tab of a Chromium.
type browser struct {
	*wire.Wire
	t       *testing.T
	session string

	mutex   sync.Mutex
	console []string
}

// newBrowser starts one in a namespace, until the test ends.
func newBrowser(t *testing.T, at *netns.Namespace) *browser {
	t.Helper()
	profile, err := os.MkdirTemp("", "realmgate-chromium-")
	if err != nil {
		t.Fatal(err)
	}
	log, err := os.Create(filepath.Join(profile, "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close() // the process has its own copy
	ctx, end := context.WithCancel(context.Background())
	command := at.Command(ctx, "chromium", append(flags, "--user-data-dir="+profile, "about:blank")...)
	command.Env = append(os.Environ(), "HOME="+profile, "TMPDIR="+profile, "DBUS_SESSION_BUS_ADDRESS=disabled:", "DISPLAY=")
	command.Stdout, command.Stderr = log, log
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		end()
		_ = command.Wait()
		_ = os.RemoveAll(profile)
	})
	address := ""
	eventually(t, startLimit, "Chromium listens", func() bool {
		text, err := os.ReadFile(filepath.Join(profile, "DevToolsActivePort"))
		address = strings.TrimSpace(string(text))
		return err == nil && strings.Contains(address, "\n")
	})
	port, path, _ := strings.Cut(address, "\n")
	dialing, cancel := context.WithTimeout(t.Context(), startLimit)
	defer cancel()
	w, err := wire.Dial(dialing, at, "127.0.0.1:"+port, path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	b := &browser{Wire: w, t: t}
	w.Hear(b.hear)
	var target struct{ TargetID string }
	var attached struct{ SessionID string }
	b.do("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	b.do("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached)
	b.session = attached.SessionID
	for _, domain := range []string{"Page", "Runtime", "Log", "Network"} {
		b.do(domain+".enable", map[string]any{}, nil)
	}
	t.Cleanup(func() {
		if t.Failed() {
			b.mutex.Lock()
			defer b.mutex.Unlock()
			t.Logf("the console shows: %s; loads failed: %s", strings.Join(b.console, "\n"), b.Failures())
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
			defer cancel()
			var got struct{ Result struct{ Value string } }
			_ = b.Call(ctx, b.session, "Runtime.evaluate", map[string]any{"expression": "document.body.innerText", "returnByValue": true}, &got)
			t.Logf("the page shows: %s", got.Result.Value)
		}
	})
	return b
}

func (b *browser) do(method string, params, result any) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), callLimit)
	defer cancel()
	if err := b.Call(ctx, b.session, method, params, result); err != nil {
		b.t.Fatal(err)
	}
}

// hear notes what the console shows.
func (b *browser) hear(e wire.Event) {
	switch e.Method {
	case "Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded":
		b.mutex.Lock()
		defer b.mutex.Unlock()
		b.console = append(b.console, fmt.Sprintf("%s %.600s", e.Method, e.Params))
	}
}

// others are loads that ended with the page that asked for them.
var others = regexp.MustCompile(`net::ERR_ABORTED:\d+ ?`)

// quiet wants an empty console, and nothing to have failed to load.
func (b *browser) quiet(where string) {
	b.t.Helper()
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if len(b.console) > 0 {
		b.t.Errorf("%s: the console shows:\n%s", where, strings.Join(b.console, "\n"))
	}
	b.console = nil
	if failed := others.ReplaceAllString(b.Failures(), ""); failed != "map[]" {
		b.t.Errorf("%s: loads failed: %s", where, failed)
	}
}

// open goes to a page, and waits until it is loaded.
func (b *browser) open(url string) {
	b.t.Helper()
	var opened struct{ ErrorText string }
	b.do("Page.navigate", map[string]any{"url": url}, &opened)
	if opened.ErrorText != "" {
		b.t.Fatalf("open %s: %s", url, opened.ErrorText)
	}
	b.until("the page is loaded: "+url, `document.readyState === "complete" && location.href !== "about:blank"`)
}

// eval gives what an expression is, as JSON has it; its promise is awaited.
func (b *browser) eval(expression string, into any) {
	b.t.Helper()
	if err := b.try(expression, into); err != nil {
		b.t.Fatalf("%s: %v", expression, err)
	}
}

func (b *browser) try(expression string, into any) error {
	ctx, cancel := context.WithTimeout(b.t.Context(), callLimit)
	defer cancel()
	var got struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails struct {
			Text      string
			Exception struct{ Description string }
		}
	}
	err := b.Call(ctx, b.session, "Runtime.evaluate", map[string]any{"expression": expression, "awaitPromise": true, "returnByValue": true}, &got)
	switch {
	case err != nil:
		return err
	case got.ExceptionDetails.Text != "":
		return fmt.Errorf("%s %s", got.ExceptionDetails.Text, got.ExceptionDetails.Exception.Description)
	case into == nil:
		return nil
	}
	return json.Unmarshal(got.Result.Value, into)
}

// until waits until an expression is true; while a page is on its way there is none.
func (b *browser) until(what, expression string) {
	b.t.Helper()
	eventually(b.t, callLimit, what, func() bool {
		yes := false
		return b.try(expression, &yes) == nil && yes
	})
}

func (b *browser) text(selector string) string {
	b.t.Helper()
	text := ""
	b.eval(fmt.Sprintf(`document.querySelector(%q)?.innerText ?? ""`, selector), &text)
	return text
}

// looks are how screens are looked at.
var looks = []struct {
	name, scheme  string
	width, height int
}{{"light", "light", 1280, 900}, {"dark", "dark", 1280, 900}, {"light-360", "light", 360, 740}, {"dark-360", "dark", 360, 740}}

// look shows the page in each way, and keeps pictures of it where they are wanted. It wants no sideways scrolling, an empty console,
// and nothing that keeps people out.
func (b *browser) look(name string) {
	b.t.Helper()
	for _, l := range looks {
		b.do("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{{"name": "prefers-color-scheme", "value": l.scheme}}}, nil)
		b.do("Emulation.setDeviceMetricsOverride", map[string]any{"width": l.width, "height": l.height, "deviceScaleFactor": 1, "mobile": false}, nil)
		b.eval(`new Promise((done) => requestAnimationFrame(() => setTimeout(done, 150)))`, nil)
		var size struct{ Scroll, Client int }
		b.eval(`({Scroll: document.documentElement.scrollWidth, Client: document.documentElement.clientWidth})`, &size)
		if size.Scroll > size.Client {
			b.t.Errorf("%s %s: the page is %d wide, and shows %d", name, l.name, size.Scroll, size.Client)
		}
		if l.width > 360 {
			b.openToAll(name + " " + l.name)
		}
		if folder := os.Getenv("REALMGATE_SCREENSHOTS"); folder != "" {
			b.eval(`document.querySelectorAll(".brand small, footer").forEach((e) => e.replaceChildren())`, nil) // the test's own
			for _, format := range []string{"png", "webp"} {
				var picture struct{ Data string }
				b.do("Page.captureScreenshot", map[string]any{"format": format, "quality": 80, "captureBeyondViewport": l.width == 360}, &picture)
				image, err := base64.StdEncoding.DecodeString(picture.Data)
				if err == nil {
					err = os.WriteFile(filepath.Join(folder, name+"-"+l.name+"."+format), image, 0o644) // #nosec G306 -- everybody may look
				}
				if err != nil {
					b.t.Fatal(err)
				}
			}
		}
	}
	b.do("Emulation.clearDeviceMetricsOverride", map[string]any{}, nil)
}
