package browser

import (
	"context"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"time"
)

// background is for what lives until the lab is closed.
var background = context.Background()

// holders are the clients that are measured, behind each resolver.
func holders() []holder {
	resolvers := []struct {
		name string
		ip   netip.Addr
	}{
		{"unbound", unboundIP},
		{"dnsmasq, unbound", dnsmasqIP},
		{"systemd-resolved, unbound", resolvedIP},
		{"unbound, serve-expired", staleIP},
		{"unbound, serve-expired as RFC 8767", patientIP},
		{"unbound, cache-min-ttl 60", minimumIP},
		{"unbound, cache-min-ttl 60 and serve-expired", worstIP},
	}
	var all []holder
	for _, r := range resolvers {
		all = append(all,
			holder{name: "Chromium, " + r.name, resolver: r.ip, start: chromiumPage},
			holder{name: "Firefox, " + r.name, resolver: r.ip, start: firefoxPage})
	}
	plainJava := func(m *machine) (fetcher, error) { return newJava(m) }
	return append(all,
		holder{name: "OpenJDK, unbound", resolver: unboundIP, start: plainJava},
		holder{name: "OpenJDK, unbound, cache-min-ttl 60", resolver: minimumIP, start: plainJava},
		holder{name: "OpenJDK, ttl=-1, unbound", resolver: unboundIP, start: func(m *machine) (fetcher, error) {
			return newJava(m, "-Dsun.net.inetaddr.ttl=-1")
		}},
		// The resolver's time and the client's add up where somebody asked before.
		holder{name: "Chromium, cache-min-ttl 60, asked before", resolver: minimumIP, start: chromiumPage, primed: 55},
		holder{name: "Firefox, cache-min-ttl 60, asked before", resolver: minimumIP, start: firefoxPage, primed: 55},
		holder{name: "OpenJDK, cache-min-ttl 60, asked before", resolver: minimumIP, start: plainJava, primed: 55})
}

func chromiumPage(m *machine) (fetcher, error) { return inPage(newChromium(m, false)) }

func firefoxPage(m *machine) (fetcher, error) { return inPage(newFirefox(m, false)) }

// inPage opens the page from whose origin everything is fetched.
func inPage(t tab, err error) (fetcher, error) {
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(background, 30*time.Second)
	defer cancel()
	return browserFetcher{t}, t.open(ctx, "http://page."+zone)
}

// holdWaits are the seconds between the two fetches of a name: every ten or
// thirty, and every one where a cache is known to end: after 30 s, after
// minutes, and after Firefox's 60 and 600 s of grace.
func holdWaits() []int {
	dense := func(s int) bool {
		for _, end := range []int{30, 60, 120, 180, 240, 600, 660, 720, 780} {
			if s >= end-6 && s <= end+5 {
				return true
			}
		}
		return false
	}
	var waits []int
	for s := 7; s <= 785; s++ {
		if dense(s) || s <= 250 && s%10 == 0 || s%30 == 0 {
			waits = append(waits, s)
		}
	}
	return waits
}

// observe fetches a name below domain for each wait, and again after it, all side
// by side. before comes first for each.
func observe(f fetcher, authority *names, domain string, before func(name string)) []observation {
	waits := holdWaits()
	seen := make([]observation, len(waits))
	var running sync.WaitGroup
	for i, wait := range waits {
		running.Go(func() {
			time.Sleep(time.Duration(i) * 50 * time.Millisecond)
			name := fmt.Sprintf("w%d.%s", wait, domain)
			before(name)
			seen[i] = observeOne(f, authority, name, wait)
		})
	}
	running.Wait()
	return seen
}

func observeOne(f fetcher, authority *names, name string, wait int) observation {
	ctx, cancel := context.WithTimeout(background, time.Duration(wait+60)*time.Second)
	defer cancel()
	o := observation{wait: wait}
	if _, o.err = f.fetch(ctx, name); o.err != nil {
		return o
	}
	time.Sleep(time.Duration(wait) * time.Second)
	var text string
	if text, o.err = f.fetch(ctx, name); o.err != nil {
		return o
	}
	// The server's address, which request of its connection it is, and when.
	words := strings.Fields(text)
	if len(words) != 3 {
		o.err = fmt.Errorf("the web server said %q", text)
		return o
	}
	o.fresh = words[1] == "1"
	at, _ := strconv.ParseFloat(words[2], 64)
	address, _ := netip.ParseAddr(words[0])
	o.age = at - float64(authority.lastGiven(name, address).UnixMicro())/1e6
	return o
}

// summary is the line of the table: the greatest age at which a new connection
// was opened, and the least wait after which it was always asked anew.
func summary(seen []observation) string {
	var oldest float64
	var anew, used, failed int
	for _, o := range seen {
		switch {
		case o.err != nil:
			failed++
		case !o.fresh:
			used++
		case o.age > oldest:
			oldest = o.age
		}
	}
	for i := len(seen) - 1; i >= 0 && seen[i].err == nil && seen[i].age < 5; i-- {
		anew = seen[i].wait
	}
	line := fmt.Sprintf("new connections up to %5.1f s after the answer", oldest)
	if anew > 0 {
		line += fmt.Sprintf(", asks anew from %d s", anew)
	} else {
		line += fmt.Sprintf(", still so at %d s, the longest tried", seen[len(seen)-1].wait)
	}
	return line + fmt.Sprintf(" (%d names, %d by open connections, %d failed)", len(seen), used, failed)
}

// details are all waits with the ages that were met, or errors.
func details(seen []observation) string {
	var words []string
	for _, o := range seen {
		word := fmt.Sprintf("%d %.0f", o.wait, o.age)
		if o.err != nil {
			word = fmt.Sprintf("%d %v", o.wait, o.err)
		}
		words = append(words, word)
	}
	return strings.Join(words, ", ")
}
