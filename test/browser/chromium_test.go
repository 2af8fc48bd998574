package browser

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/realmgate/realmgate/test/wire"
)

// startLimit is long: a machine that compiles beside it may take a minute.
const startLimit = 3 * time.Minute

// tab is a page in a browser.
type tab interface {
	// open goes to an address and waits until the page stands or has failed.
	open(ctx context.Context, url string) error
	// evaluate runs an expression in the page, waits for its promise, and
	// returns the string that it gives.
	evaluate(ctx context.Context, expression string) (string, error)
	// Failures are the reasons why loads have failed since the last call, as far as the browser tells.
	Failures() string
}

// chromiumFlags keep it off the network but for what the test asks for. What it
// does with names and connections is left as Debian sets it up.
var chromiumFlags = []string{
	"--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--no-default-browser-check",
	"--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-default-apps", "--disable-extensions",
	"--disable-client-side-phishing-detection", "--disable-domain-reliability", "--disable-breakpad", "--metrics-recording-only",
	"--no-pings", "--password-store=basic", "--mute-audio", "--disable-search-engine-choice-screen",
	// A page in the background is as fast as one that is looked at.
	"--disable-background-timer-throttling", "--disable-renderer-backgrounding", "--disable-backgrounding-occluded-windows",
	"--remote-debugging-port=0", "--remote-allow-origins=*",
}

// chromium is a tab of a Chromium of its own.
type chromium struct {
	*wire.Wire
	session string
}

// newChromium starts a Chromium on the machine. upgrade says whether it tries
// https where it is told http, as Chrome on a desktop does.
func newChromium(m *machine, upgrade bool) (tab, error) {
	profile := filepath.Join(m.directory, "chromium")
	features := "HttpsUpgrades,HttpsFirstBalancedModeAutoEnable"
	feature := "--disable-features="
	if upgrade {
		feature, features = "--enable-features=", "HttpsUpgrades"
	}
	args := append([]string{"--user-data-dir=" + profile, feature + features}, chromiumFlags...)
	m.start("chromium.log", "chromium", append(append(args, m.flags...), "about:blank")...)
	ctx, cancel := context.WithTimeout(background, startLimit)
	defer cancel()
	address, err := waitFile(ctx, filepath.Join(profile, "DevToolsActivePort"))
	if err != nil {
		return nil, err
	}
	port, path, _ := strings.Cut(strings.TrimSpace(address), "\n")
	w, err := wire.Dial(ctx, m.Namespace, "127.0.0.1:"+port, path)
	if err != nil {
		return nil, err
	}
	var target struct{ TargetID string }
	var attached struct{ SessionID string }
	err = w.Call(ctx, "", "Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	if err == nil {
		err = w.Call(ctx, "", "Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached)
	}
	if err == nil { // for the reasons of loads that fail
		err = w.Call(ctx, attached.SessionID, "Network.enable", map[string]any{}, nil)
	}
	if err != nil {
		return nil, fmt.Errorf("open a tab: %w", err)
	}
	return &chromium{Wire: w, session: attached.SessionID}, nil
}

// waitFile returns a file's text once it has two lines.
func waitFile(ctx context.Context, path string) (string, error) {
	for {
		text, err := os.ReadFile(path)
		if err == nil && strings.Contains(string(text), "\n") {
			return string(text), nil
		}
		select {
		case <-ctx.Done():
			return "", fmt.Errorf("wait for %s: %w", path, ctx.Err())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func (c *chromium) open(ctx context.Context, url string) error {
	var opened struct{ ErrorText string }
	if err := c.Call(ctx, c.session, "Page.navigate", map[string]any{"url": url}, &opened); err != nil {
		return err
	}
	if opened.ErrorText != "" {
		return fmt.Errorf("open %s: %s", url, opened.ErrorText)
	}
	return nil
}

func (c *chromium) evaluate(ctx context.Context, expression string) (string, error) {
	var got struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails struct {
			Text      string
			Exception struct{ Description string }
		}
	}
	params := map[string]any{"expression": expression, "awaitPromise": true, "returnByValue": true}
	if err := c.Call(ctx, c.session, "Runtime.evaluate", params, &got); err != nil {
		return "", err
	}
	if details := got.ExceptionDetails; details.Text != "" {
		return "", errors.New(details.Text + " " + details.Exception.Description)
	}
	var text string
	if err := json.Unmarshal(got.Result.Value, &text); err != nil {
		return "", fmt.Errorf("evaluate: it gives no string but %s", got.Result.Value)
	}
	return text, nil
}
