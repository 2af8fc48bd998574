package api

import (
	"errors"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/realmgate/realmgate/internal/model"
)

func TestExplainRequests(t *testing.T) {
	address := netip.MustParseAddr
	for query, want := range map[string]ExplainRequest{
		"address=203.0.113.7":                         {Address: address("203.0.113.7")},
		"address=::ffff:203.0.113.7&to=WWW.a.Example": {Address: address("203.0.113.7"), ToName: "www.a.example."},
		"address=203.0.113.7&to=a.example&protocol=UDP&port=53&direction=in": {
			Address: address("203.0.113.7"), ToName: "a.example.", Protocol: model.UDP, Port: 53, Direction: model.In,
		},
		"address=10.0.0.1&to=203.0.113.7&protocol=icmp&direction=out": {
			Address: address("10.0.0.1"), ToAddress: address("203.0.113.7"), Protocol: model.ICMP, Direction: model.Out,
		},
		"address=203.0.113.7&name=A.Example&to=203.0.113.9&port=80": {
			Address: address("203.0.113.7"), ToAddress: address("203.0.113.9"), Says: "a.example.", Port: 80,
		},
		"address=2001:db8::1": {Address: address("2001:db8::1")},
		"address=fe80::1%25eth0&to=2001:db8::2&direction=out": {Address: address("fe80::1"), ToAddress: address("2001:db8::2"), Direction: model.Out},
	} {
		g := &fakeGateway{}
		w := ask(t, g, http.MethodGet, "/v1/explain?"+query)
		if w.Code != http.StatusOK || g.explain != want || !strings.Contains(w.Body.String(), `"steps":[],"passes":true}`) {
			t.Errorf("%s: %d %s, asked for %+v", query, w.Code, w.Body, g.explain)
		}
		if again, err := ParseExplain(want.Query()); err != nil || again != want {
			t.Errorf("Query and ParseExplain: %+v, %v", again, err)
		}
	}
}

func TestExplainRefusals(t *testing.T) {
	for query, want := range map[string]string{
		"":                                "say which address",
		"address=203.0.113.999":           `"203.0.113.999" is not an IP address`,
		"address=1.1.1.1&address=1.1.1.1": `parameter "address" is given 2 times`,
		"address=1.1.1.1&from=1.1.1.2":    `unknown parameter "from": use address, direction, name, port, protocol, to`,
		"address=1.1.1.1&to=2001:db8::1&protocol=tcp&port=1": "1.1.1.1 and 2001:db8::1 are of two families",
		"address=2001:db8::1&to=a.example":                   "names stand for IPv4: give an IPv6 address, or none",
		"address=2001:db8::1&to=2001:db8::2&port=1":          "say which protocol: tcp or udp",
		"address=2001:db8::1&protocol=tcp":                   "say which port of tcp",
		"address=2001:db8::1&protocol=icmp&port=1":           "icmp has no ports",
		"address=2001:db8::1&name=a.example":                 "names stand for IPv4: give an IPv6 address, or none",
		"address=1.1.1.1&to=a&name=b":                        "give --name alone, or with --to a web address: --to a name asks for that name",
		"address=1.1.1.1&name=b&protocol=icmp":               "icmp says no name: use tcp or udp",
		"address=1.1.1.1&name=":                              `name "" is empty`,
		"address=1.1.1.1&to=a..b":                            `name "a..b" has a label that is not 1 to 63 octets long`,
		"address=1.1.1.1&to=1.1.1.2":                         "say which protocol: tcp, udp or icmp",
		"address=1.1.1.1&to=1.1.1.2&protocol=udp":            "say which port of udp",
		"address=1.1.1.1&to=a&protocol=any":                  "a flow has one protocol: use tcp, udp or icmp",
		"address=1.1.1.1&to=a&protocol=icmp&port=7":          "icmp has no ports",
		"address=1.1.1.1&to=a&port=0":                        `"0" is not a port: use 1 to 65535`,
		"address=1.1.1.1&port=80":                            "say where to: protocol and port are of what the flow goes to",
		"address=1.1.1.1&direction=any":                      `unknown direction "any": use in or out`,
	} {
		w := ask(t, &fakeGateway{}, http.MethodGet, "/v1/explain?"+query)
		if got := refusal(t, w); got != "400 "+want {
			t.Errorf("%s:\n got %s\nwant %s", query, got, want)
		}
	}
	g := &fakeGateway{err: errors.New("there is no name b")}
	if w := ask(t, g, http.MethodGet, "/v1/explain?address=1.1.1.1&to=b"); w.Code != http.StatusBadRequest {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
