package api

import (
	"net/url"
	"testing"
)

// Whatever comes as a query is an error or a filter that means the same after
// it was written and read again.
func FuzzParseFilter(f *testing.F) {
	for _, seed := range []string{
		"address=10.0.0.1&port=80&protocol=tcp&host=a.example", "address=fe80::1%25eth0", "address=::ffff:1.2.3.4",
		"port=080", "port=+80", "host=.", "host=A_b.&host=b.", "protocol=any", "protocol=", "x=1", "%",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		query, err := url.ParseQuery(text)
		if err != nil {
			return
		}
		first, err := ParseFilter(query)
		if err != nil {
			return
		}
		second, err := ParseFilter(first.Query())
		if err != nil || second != first {
			t.Errorf("%q: %+v became %+v, %v", text, first, second, err)
		}
	})
}
