package bugreport

import (
	"slices"
	"strings"
	"testing"
)

// Whatever looks as a secret is hidden, wherever it stands, and the words around it stay.
func TestScrub(t *testing.T) {
	t.Parallel()
	clean := Scrub([]string{"Zm9vYmFyYmF6", "abc"})
	for _, c := range []struct{ text, want string }{
		{"refused for Zm9vYmFyYmF6 by abc", "refused for <hidden> by abc"},
		{"Authorization: Bearer eyJh.bGci.Oi", "Authorization: <hidden>"},
		{`{"Authorization":"Basic dXNlcjpwYXNz","Accept":"*/*"}`, `{"Authorization":<hidden>,"Accept":"*/*"}`},
		{"level=WARN password=hunter2 host=a", "level=WARN password=<hidden> host=a"},
		{`password="with \" in it" next=1`, `password=<hidden> next=1`},
		{"curl --token abcdefgh https://a.example/", "curl --token <hidden> https://a.example/"},
		{"sent Bearer abcdefgh12345", "sent Bearer <hidden>"},
		{"fetch ftp://user:pass@a.example/x: 530", "fetch ftp://<hidden>a.example/x: 530"},
		{"Post https://hooks.example/services/T0/B0/XyZ: 404", "Post https://hooks.example<hidden> 404"},
		{"created rg_0123456789abcdef", "created <hidden>"},
		{"ghp_0123456789abcdefghij xoxb-1234567890-abc AKIAIOSFODNN7EXAMPLE", "<hidden> <hidden> <hidden>"},
		{"bot 123456789:AAabcdefghijklmnopqrstuvwxyz0123456 said", "bot <hidden> said"},
		{"-----BEGIN EC PRIVATE KEY-----\nMHc\n-----END EC PRIVATE KEY-----\nafter", "-----BEGIN EC PRIVATE KEY-----<hidden>\nafter"},
		{"-----BEGIN PRIVATE KEY-----\nthat is cut", "-----BEGIN PRIVATE KEY-----<hidden>"},
		{"AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI", "AWS_SECRET_ACCESS_KEY=<hidden>"},
		{"snmp community: public", "snmp community: <hidden>"},
		{"sessions=12 mappings=8 key 4, value 64", "sessions=12 mappings=8 key 4, value 64"},
		{"drop_no_reservation 77 tcp 192.0.2.9:40000 > 198.18.0.40:80", "drop_no_reservation 77 tcp 192.0.2.9:40000 > 198.18.0.40:80"},
	} {
		if got := string(clean([]byte(c.text))); got != c.want {
			t.Errorf("%q became\n%q, want\n%q", c.text, got, c.want)
		}
	}
}

// A configuration keeps what it does, and loses comments, secrets and the paths of URLs. What was secret is known then.
func TestConfiguration(t *testing.T) {
	t.Parallel()
	clean, secrets := Configuration([]byte(`# call 555-1234
dns:
  public: 198.18.0.1:53 # ask Bob
  keys:
    - {name: acme., algorithm: hmac-sha256, secret: c2VjcmV0IG9mIFRTSUc=}
    - {name: b., secret_file: /etc/tsig}
lists:
  - {name: drop, url: "https://user:hunter2@lists.example/a-long-private-path/drop.txt?format=csv&apikey=0123456789abcdef"}
events:
  - {name: a, command: [/usr/bin/notify, --room, "secret room"]}
  - name: b
    webhook: https://hooks.example/services/T000/B000
    headers: {X-Key: sesame, X-More: [open]}
capacity: 1000
`))
	want := `dns:
  public: 198.18.0.1:53
  keys:
    - {name: acme., algorithm: hmac-sha256, secret: <hidden>}
    - {name: b., secret_file: /etc/tsig}
lists:
  - {name: drop, url: "https://lists.example/<hidden>"}
events:
  - {name: a, command: [/usr/bin/notify, <hidden>, "<hidden>"]}
  - name: b
    webhook: https://hooks.example/<hidden>
    headers: {X-Key: <hidden>, X-More: [<hidden>]}
capacity: 1000
`
	if string(clean) != want {
		t.Errorf("it became\n%s", clean)
	}
	slices.Sort(secrets)
	if got := strings.Join(secrets, " "); got != "--room 0123456789abcdef a-long-private-path c2VjcmV0IG9mIFRTSUc= hunter2 open secret room sesame" {
		t.Errorf("known are %q", got)
	}
	clean, _ = Configuration([]byte("dns:\n  keys: [{secret: \"c2Vj\n  public: x # y\nc2VjcmV0\n"))
	if want := "dns: <hidden>\n  keys: <hidden>\n  public: <hidden>\n<hidden>\n"; string(clean) != want {
		t.Errorf("of what is no YAML it leaves\n%s", clean)
	}
}
