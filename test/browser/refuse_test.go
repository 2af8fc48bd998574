package browser

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/realmgate/realmgate/internal/lab/netns"
	"github.com/realmgate/realmgate/test/lab"
)

// TestWhatRefusalDoes measures what a browser does with an address that it knows
// and that lets nobody in any more, while the name has another one: refused by
// RST, or met with silence. There is no gateway in it.
func TestWhatRefusalDoes(t *testing.T) {
	lab.LengthyOnly(t)
	for _, end := range []struct {
		name, target string
		cases        []string
		tries        int
	}{
		// A page's own fetches and going to pages are kept apart: browsers have
		// caches of their own for what is fetched within each page.
		{"page refused", "REJECT --reject-with tcp-reset", []string{"fetch.after10", "fetch.after70"}, 3},
		{"refused", "REJECT --reject-with tcp-reset", []string{"open.after10", "open.after70"}, 3},
		// One each, as it may take minutes.
		{"page silent", "DROP", []string{"fetch.after10"}, 1},
		{"silent", "DROP", []string{"open.after10"}, 1},
	} {
		t.Run(end.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, netns.Options{RemoteClients: 2, Servers: 1, Resolver: true})
			authority := w.holdServers()
			browsers := []string{"Chromium", "Firefox"}
			tabs := make([]tab, len(browsers))
			for i, start := range []func(*machine, bool) (tab, error){newChromium, newFirefox} {
				var err error
				tabs[i], err = start(w.newMachine(w.RemoteClients[i], unboundIP), false)
				if err == nil {
					_, err = inPage(tabs[i], nil)
				}
				if err != nil {
					t.Fatalf("%s: %v", browsers[i], err)
				}
			}
			for i, b := range tabs {
				for _, name := range refusedNames(i, end.cases) {
					if err := get(background, b, name); err != nil {
						t.Fatalf("%s: %v", browsers[i], err)
					}
				}
			}
			begin := time.Now()
			for n := range authority.even(append(refusedNames(0, end.cases), refusedNames(1, end.cases)...)) {
				arguments := "-A INPUT -p tcp --dport 80 -d " + webAddress(n+1).String() + " -j " + end.target
				if out, err := w.Servers[0].Command(background, "iptables", strings.Fields(arguments)...).CombinedOutput(); err != nil {
					t.Fatalf("iptables: %v\n%s", err, out)
				}
			}
			var running sync.WaitGroup
			for i, b := range tabs {
				running.Go(func() {
					for n, name := range refusedNames(i, end.cases) {
						age := 10 * time.Second
						if strings.HasSuffix(end.cases[n], "70") { // Chromium's cache has expired
							age = 70 * time.Second
						}
						time.Sleep(age - time.Since(begin))
						t.Logf("%s, %s, %s", end.name, browsers[i], try(b, authority, name, end.tries))
					}
				})
			}
			running.Wait()
		})
	}
}

// refusedNames are the names to fetch from within a page, or to go to, so many
// seconds after their first answer.
func refusedNames(client int, cases []string) []string {
	var names []string
	for _, c := range cases {
		names = append(names, fmt.Sprintf("%s.c%d.%s", c, client, zone))
	}
	return names
}

// even makes all names have been asked for as often as the one that was most,
// and returns how often: so many first addresses were given, to all of them.
func (n *names) even(all []string) int {
	most := 0
	for _, name := range all {
		most = max(most, n.asked(name))
	}
	for _, name := range all {
		for n.asked(name) < most {
			n.give(name)
		}
	}
	return most
}

// try gets to a name so many times, a second apart, and says what came of it.
func try(b tab, authority *names, name string, tries int) string {
	line := name
	for range tries {
		ctx, cancel := context.WithTimeout(background, 150*time.Second)
		before, begin := authority.asked(name), time.Now()
		result := "good"
		if err := get(ctx, b, name); err != nil {
			result = strings.ReplaceAll(err.Error(), "\n", " ")
			result = result[:min(90, len(result))]
		}
		line += fmt.Sprintf("\n    %s after %.2f s, asked %d times", result, time.Since(begin).Seconds(), authority.asked(name)-before)
		cancel()
		time.Sleep(time.Second)
	}
	return line
}

// get goes to a name, or fetches it from within the page that is open.
func get(ctx context.Context, b tab, name string) error {
	if strings.HasPrefix(name, "open") {
		return b.open(ctx, "http://"+strings.TrimSuffix(name, "."))
	}
	_, err := browserFetcher{b}.fetch(ctx, name)
	return err
}
