package api

import (
	"encoding/json"
	"net/http"
	"net/netip"
	"reflect"
	"testing"

	"github.com/realmgate/realmgate/internal/model"
)

func TestSummary(t *testing.T) {
	t.Parallel()
	g := &fakeGateway{}
	for i, remote := range []string{"203.0.113.7:1", "203.0.113.9:1", "198.51.100.1:1", "[2001:db8:1:2::3]:4", "[2001:db8:1:3::3]:4", "[2001:db8:2::3]:4"} {
		s := session(i + 1)
		s.Remote = netip.MustParseAddrPort(remote)
		if i == 0 {
			s.Protocol, s.Host = model.UDP, "a.example."
		}
		g.sessions = append(g.sessions, s)
	}
	g.sessions = append(g.sessions, session(7)) // without a peer, as while it opens
	for query, want := range map[string]Summary{
		"by=protocol":                            {By: "protocol", Sessions: 7, Groups: []Group{{"tcp", 6}, {"udp", 1}}},
		"by=host&top=1":                          {By: "host", Sessions: 7, Groups: []Group{{"", 6}}, Others: 1},
		"by=state":                               {By: "state", Sessions: 7, Groups: []Group{{"established", 7}}},
		"by=origin&protocol=udp":                 {By: "origin", Sessions: 1, Groups: []Group{{"inside", 1}}},
		"by=country&top=1000":                    {By: "country", Sessions: 7, Groups: []Group{{"", 4}, {"DE", 3}}},
		"by=remote24&top=3":                      {By: "remote24", Sessions: 7, Groups: []Group{{"2001:db8:1::/48", 2}, {"203.0.113.0/24", 2}, {"2001:db8:2::/48", 1}}, Others: 2},
		"by=remote24&address=::ffff:203.0.113.7": {By: "remote24", Sessions: 1, Groups: []Group{{"203.0.113.0/24", 1}}},
	} {
		w := ask(t, g, http.MethodGet, "/v1/sessions/summary?"+query)
		var got Summary
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != http.StatusOK {
			t.Fatalf("%s: %d %s", query, w.Code, w.Body)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\n got %+v\nwant %+v", query, got, want)
		}
	}
	for query, want := range map[string]string{
		"":                     `400 by: "" is no kind of sessions: use country, host, name, origin, protocol, remote24, state`,
		"by=port":              `400 by: "port" is no kind of sessions: use country, host, name, origin, protocol, remote24, state`,
		"by=host&top=0":        `400 top: "0" is not a number from 1 to 1000`,
		"by=host&top=1001":     `400 top: "1001" is not a number from 1 to 1000`,
		"by=host&by=name":      `400 "by" is given 2 times`,
		"by=host&top=1&cursor": `400 unknown filter "cursor": use address, host, port, protocol`,
	} {
		if got := refusal(t, ask(t, g, http.MethodGet, "/v1/sessions/summary?"+query)); got != want {
			t.Errorf("%s:\n got %s\nwant %s", query, got, want)
		}
	}
	g.err = errBroken
	if got := refusal(t, ask(t, g, http.MethodGet, "/v1/sessions/summary?by=remote24")); got != "500 the table cannot be read" {
		t.Error(got)
	}
}
