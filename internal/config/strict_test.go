package config

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/realmgate/realmgate/internal/schema"
)

// protecting are the keys of the configuration that the protection is made of.
var protecting = []string{"sets", "lists", "ignoreip", "bans", "protection", "jails"}

// aKey is a key in a YAML file, in block or flow style.
var aKey = regexp.MustCompile(`(^|[\s{,-])([a-z_]+):(\s|$)`)

// TestProtectionRule1_EveryKeyIsStrict: of every key that the protection has, one that is
// misspelled is refused, with its line; so are addresses, places and durations that are none.
func TestProtectionRule1_EveryKeyIsStrict(t *testing.T) {
	tried := map[string]bool{}
	for _, file := range []string{"protection", "bans", "jails", "honeypot", "lists"} {
		text := wholeProtection[file]
		if text == "" {
			read, err := os.ReadFile("testdata/" + file + ".good.yml")
			if err != nil {
				t.Fatal(err)
			}
			text = string(read)
		}
		if _, err := Parse("testdata/test.yml", []byte(text)); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		section := ""
		lines := strings.Split(text, "\n")
		for i, line := range lines {
			if top, _, found := strings.Cut(line, ":"); found && !strings.HasPrefix(line, " ") {
				section = top
			}
			if !slices.Contains(protecting, section) || strings.Contains(line, "'^") { // a pattern has no keys
				continue
			}
			for _, at := range aKey.FindAllStringSubmatchIndex(line, -1) {
				key := line[at[4]:at[5]]
				tried[section+" "+key] = true
				changed := slices.Clone(lines)
				changed[i] = line[:at[5]] + "x" + line[at[5]:]
				_, err := Parse("testdata/test.yml", []byte(strings.Join(changed, "\n")))
				if want := fmt.Sprintf("test.yml:%d: ", i+1); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), key+"x") {
					t.Errorf("%s: %sx in line %d: %v", file, key, i+1, err)
				}
			}
		}
	}
	keys := make(map[string]row)
	collectRows(keys, "", schema.Keys(new(Config).drafts(nil)))
	for path := range keys {
		section := regexp.MustCompile(`[.\[]`).Split(path, 2)[0]
		key := strings.TrimRight(path[strings.LastIndex(path, ".")+1:], "[]")
		if slices.Contains(protecting, section) && !tried[section+" "+key] {
			t.Errorf("no file of the test has %s", path)
		}
	}
	for value, want := range map[string]string{
		"protection: {blocklist: [192.0.2.1/24]}":                               "no prefix boundary",
		"protection: {allowlist: [\"2001:db8::/129\"]}":                         "want an address or a prefix",
		"ignoreip: [192.0.2.300]":                                               "ignoreip",
		"protection: {geofence: [{deny: [country:XX], unknown: allow}]}":        "no country has the code",
		"protection: {geofence: [{deny: [FI], unknown: allow}]}":                "want country:FI",
		"protection: {geofence: [{deny: [continent:EX], unknown: allow}]}":      "continent",
		"protection: {geofence: [{deny: [asn:0], unknown: allow}]}":             "asn",
		"bans: {regions: [{region: country:ZZ, factor: 2}]}":                    "no country has the code",
		"protection: {honeypot: {tcp: [23], bantime: soon}}":                    "bantime",
		"jails: [{name: a, file: /a, patterns: [sshd], findtime: 1 fortnight}]": "findtime",
	} {
		if _, err := Parse("testdata/test.yml", []byte(least+value+"\n")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", value, err, want)
		}
	}
}

const least = `interfaces: {public: [eth0], private: [eth1]}
realm: {zones: [foo.example.], nameserver: ns.elsewhere.example.}
dns: {public: 198.18.0.1, private: 10.0.0.1}
pool: {addresses: [198.18.0.32]}
`

// wholeProtection has the keys that the good files have not.
var wholeProtection = map[string]string{
	"honeypot": least + "protection:\n  ignored_ports: {tcp: [443], udp: [53]}\n  monitored_ports: {tcp: [22], udp: [123]}\n  honeypot:\n    tcp: [23]\n    udp: [1900]\n    bantime: 1h\n",
	"lists":    least + "lists:\n  - {name: drop, url: \"https://lists.example/drop.txt\", refresh: 1h, column: 2}\nsets:\n  - {name: a, addresses: [192.0.2.1]}\n",
}
