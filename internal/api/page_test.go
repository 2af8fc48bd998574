package api

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// walk asks for all pages of a list, as a page or in lines, and returns the rows, each as a JSON object.
func walk(t interface{ Fatalf(string, ...any) }, g Gateway, path string, query url.Values, lines bool) (rows []map[string]any, pages int) {
	h := handlerOf(g)
	for {
		r := httptest.NewRequest(http.MethodGet, path+"?"+query.Encode(), http.NoBody)
		if lines {
			r.Header.Set("Accept", "application/x-ndjson")
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != http.StatusOK {
			t.Fatalf("%s?%s: %d %s", path, query.Encode(), w.Code, w.Body)
		}
		var page struct {
			Items []map[string]any
			Next  string
		}
		var err error
		if lines {
			page.Items, page.Next, err = readLines(w.Body)
		} else {
			err = json.Unmarshal(w.Body.Bytes(), &page)
		}
		if pages++; err != nil || pages > 100 {
			t.Fatalf("page %d: %v", pages, err)
		}
		if rows = append(rows, page.Items...); page.Next == "" {
			return rows, pages
		}
		query.Set("cursor", page.Next)
	}
}

func readLines(body io.Reader) (rows []map[string]any, next string, err error) {
	for lines := bufio.NewScanner(body); lines.Scan(); {
		row := map[string]any{}
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			return nil, "", err
		}
		if last, ok := row["next"].(string); ok {
			next = last
			continue
		}
		rows = append(rows, row)
	}
	return rows, next, nil
}

// However long the pages are, each row is on one, and in the order that was asked for.
func TestPages(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		g, n := &fakeGateway{}, rapid.IntRange(0, 40).Draw(t, "rows")
		for i := range n {
			s := session(i + 1)
			s.Age, s.Host = float64(rapid.IntRange(0, 3).Draw(t, "age")), rapid.SampledFrom([]string{"", "a.example.", "b.example."}).Draw(t, "host")
			g.sessions = append(g.sessions, s)
			g.pool = append(g.pool, Binding{
				Address: netip.AddrFrom4([4]byte{198, 18, 0, byte(rapid.IntRange(0, 3).Draw(t, "address"))}), Service: fmt.Sprintf("s%d.example.", i),
				Host: s.Host, Sessions: rapid.IntRange(0, 2).Draw(t, "sessions"), Rests: s.Age,
			})
			g.chains = append(g.chains, Chain{Name: fmt.Sprintf("chain%02d", n-i)})
		}
		limit := rapid.IntRange(1, 45).Draw(t, "limit")
		for _, list := range []struct {
			path  string
			sorts []string
			key   func(row map[string]any) string
		}{
			{"/v1/sessions", []string{"", "age", "-age", "host", "-private"}, func(row map[string]any) string { return row["private"].(string) }},
			{"/v1/pool", []string{"", "sessions", "-rests", "host", "-address"}, func(row map[string]any) string { return row["service"].(string) }},
			{"/v1/chains", []string{"", "-name"}, func(row map[string]any) string { return row["name"].(string) }},
		} {
			for _, sort := range list.sorts {
				for _, lines := range []bool{false, true} {
					query := Page{Limit: limit, Sort: sort}.Query(url.Values{})
					rows, pages := walk(t, g, list.path, query, lines)
					keys := map[string]bool{}
					for _, row := range rows {
						keys[list.key(row)] = true
					}
					if want := max(1, (n+limit-1)/limit); len(rows) != n || len(keys) != n || pages != want {
						t.Fatalf("%s by %q, lines %v: %d rows, %d of them differ, of %d, on %d pages of %d", list.path, sort, lines, len(rows), len(keys), n, pages, want)
					}
					name, down := strings.CutPrefix(sort, "-")
					if !slices.IsSortedFunc(rows, func(x, y map[string]any) int { return compareAny(x[name], y[name], down) }) {
						t.Fatalf("%s by %q: %v", list.path, sort, rows)
					}
				}
			}
		}
	})
}

// compareAny orders what a page has of one field: what is left out is less.
func compareAny(x, y any, down bool) (c int) {
	switch a := x.(type) {
	case float64:
		c = int(a - y.(float64))
	case string:
		b, _ := y.(string)
		p, err := netip.ParseAddrPort(a)
		q, err2 := netip.ParseAddrPort(b)
		if c = strings.Compare(a, b); errors.Join(err, err2) == nil {
			c = p.Compare(q)
		}
	case nil:
		if _, has := y.(string); has {
			c = -1
		}
	}
	if down {
		return -c
	}
	return c
}

// The lists' own orders: of sessions by their places, of a keyed list by its key, of the configuration's as they are there.
func TestOwnOrders(t *testing.T) {
	t.Parallel()
	g := &fakeGateway{
		sessions: []Session{session(9), session(3), session(7)}, chains: []Chain{{Name: "b"}, {Name: "a"}},
		bans: []Ban{{Prefix: netip.MustParsePrefix("203.0.113.9/32")}, {Prefix: netip.MustParsePrefix("198.51.100.0/24")}},
	}
	for path, want := range map[string]string{
		"/v1/sessions": "10.0.0.1:9 10.0.0.1:3 10.0.0.1:7", "/v1/chains": "b a", "/v1/bans": "198.51.100.0/24 203.0.113.9/32",
	} {
		rows, _ := walk(t, g, path, url.Values{"limit": {"1"}}, false)
		got := []string{}
		for _, row := range rows {
			for _, key := range []string{"private", "name", "prefix"} {
				if text, ok := row[key].(string); ok {
					got = append(got, text)
				}
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %v, want %s", path, got, want)
		}
	}
	if g.bans[0].Prefix.Bits() != 32 {
		t.Error("the gateway's own list was sorted")
	}
}

func TestPagesThatCannotBeMeant(t *testing.T) {
	t.Parallel()
	foreign := cursor{Sort: "age", Row: json.RawMessage(`{"age":1}`)}.String()
	for query, want := range map[string]string{
		"limit=0":                             `400 limit: "0" is not a number from 1 to 10000`,
		"limit=-1":                            `400 limit: "-1" is not a number from 1 to 10000`,
		"limit=x":                             `400 limit: "x" is not a number from 1 to 10000`,
		"limit=10001":                         `400 limit: "10001" is not a number from 1 to 10000`,
		"limit=1&limit=2":                     `400 "limit" is given 2 times`,
		"cursor=7":                            `400 cursor: "7" is none: use the next of a page`,
		"cursor=" + foreign:                   "400 cursor: it is of a page with another sort",
		"sort=-age&cursor=" + foreign:         "400 cursor: it is of a page with another sort",
		"sort=age&cursor=e30":                 "400 cursor: it is of a page with another sort",
		"sort=number":                         `400 sort: there is no field "number": use protocol, private, external, remote, state, origin, host, name, age, idle, and - before it for the greatest first`,
		"sort=age&cursor=" + damaged(t):       "400 cursor: json: cannot unmarshal string into Go struct field Session.age of type float64",
		"sort=age&cursor=eyJzb3J0IjoiYWdlIn0": `400 cursor: "eyJzb3J0IjoiYWdlIn0" is none: use the next of a page`,
	} {
		if got := refusal(t, ask(t, &fakeGateway{}, http.MethodGet, "/v1/sessions?"+query)); got != want {
			t.Errorf("%s:\n got %s\nwant %s", query, got, want)
		}
		got := refusal(t, ask(t, &fakeGateway{pool: []Binding{{}}}, http.MethodGet, "/v1/pool?"+query))
		if !strings.HasPrefix(got, "400 ") {
			t.Errorf("pool, %s: %s", query, got)
		}
	}
}

func damaged(t *testing.T) string {
	t.Helper()
	return cursor{Sort: "age", Row: json.RawMessage(`{"age":"old"}`)}.String()
}

// A million sessions need no more memory than a page of them.
func TestSortedSessionsAreBounded(t *testing.T) {
	t.Parallel()
	first := firstSessions{limit: 3}
	first.order, _ = orderOf(sessionType, "age", nil)
	for i := range 10_000 {
		s := session(1)
		s.Number, s.Age = uint32(i)+1, float64((i*7919)%10_000)
		first.add(s)
	}
	if cap(first.kept) > 4 || !first.more {
		t.Errorf("%d are kept, more: %v", cap(first.kept), first.more)
	}
	for i, s := range first.sorted() {
		if s.Age != float64(i) {
			t.Errorf("%d: %v", i, s.Age)
		}
	}
}
