package browser

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/realmgate/realmgate/test/wire"
)

// firefoxPreferences keep it off the network but for what the test asks for.
// Nothing of what it does with names and connections is among them.
const firefoxPreferences = `user_pref("app.normandy.enabled", false);
user_pref("app.update.enabled", false);
user_pref("browser.aboutwelcome.enabled", false);
user_pref("browser.newtabpage.enabled", false);
user_pref("browser.region.network.url", "");
user_pref("browser.safebrowsing.malware.enabled", false);
user_pref("browser.safebrowsing.phishing.enabled", false);
user_pref("browser.search.update", false);
user_pref("browser.shell.checkDefaultBrowser", false);
user_pref("browser.startup.page", 0);
user_pref("browser.topsites.contile.enabled", false);
user_pref("datareporting.healthreport.uploadEnabled", false);
user_pref("datareporting.policy.dataSubmissionEnabled", false);
user_pref("dom.push.connection.enabled", false);
user_pref("extensions.getAddons.cache.enabled", false);
user_pref("extensions.systemAddon.update.enabled", false);
user_pref("extensions.update.enabled", false);
user_pref("geo.provider.network.url", "");
user_pref("media.gmp-manager.updateEnabled", false);
user_pref("network.captive-portal-service.enabled", false);
user_pref("network.connectivity-service.enabled", false);
user_pref("services.settings.server", "data:,");
user_pref("toolkit.telemetry.enabled", false);
user_pref("toolkit.telemetry.server", "data:,");
`

// firefoxPort is the port of its WebDriver BiDi, in a namespace of its own.
const firefoxPort = "9222"

// firefox is a tab of a Firefox of its own.
type firefox struct {
	*wire.Wire
	id string // of the tab
}

// newFirefox starts a Firefox on the machine, with or without upgrades to https.
func newFirefox(m *machine, upgrade bool) (tab, error) {
	profile := filepath.Join(m.directory, "firefox")
	preferences := firefoxPreferences + m.preferences + fmt.Sprintf("user_pref(\"dom.security.https_first\", %t);\n", upgrade)
	write(m.t, filepath.Join(profile, "user.js"), preferences)
	m.start("firefox.log", "firefox-esr", "--headless", "--no-remote", "--profile", profile,
		"--remote-debugging-port", firefoxPort, "--remote-allow-origins", "http://127.0.0.1:"+firefoxPort, "about:blank")
	ctx, cancel := context.WithTimeout(background, startLimit)
	defer cancel()
	w, err := waitWire(ctx, m)
	if err != nil {
		return nil, err
	}
	if err := w.Call(ctx, "", "session.new", map[string]any{"capabilities": map[string]any{}}, nil); err != nil {
		return nil, err
	}
	var created struct{ Context string }
	if err := w.Call(ctx, "", "browsingContext.create", map[string]any{"type": "tab"}, &created); err != nil {
		return nil, err
	}
	return &firefox{Wire: w, id: created.Context}, nil
}

// waitWire connects as soon as Firefox listens.
func waitWire(ctx context.Context, m *machine) (*wire.Wire, error) {
	for {
		w, err := wire.Dial(ctx, m.Namespace, "127.0.0.1:"+firefoxPort, "/session")
		if err == nil {
			return w, nil
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), err)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

func (f *firefox) open(ctx context.Context, url string) error {
	return f.Call(ctx, "", "browsingContext.navigate", map[string]any{"context": f.id, "url": url, "wait": "complete"}, nil)
}

func (f *firefox) evaluate(ctx context.Context, expression string) (string, error) {
	var got struct {
		Type             string
		Result           struct{ Type, Value string }
		ExceptionDetails struct{ Text string }
	}
	params := map[string]any{
		"expression": expression, "target": map[string]any{"context": f.id},
		"awaitPromise": true, "resultOwnership": "none",
	}
	if err := f.Call(ctx, "", "script.evaluate", params, &got); err != nil {
		return "", err
	}
	if got.Type != "success" {
		return "", errors.New(strings.TrimSpace(got.ExceptionDetails.Text))
	}
	return got.Result.Value, nil
}
