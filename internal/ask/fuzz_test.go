package ask

import (
	"encoding/json"
	"testing"
)

// Whatever a program says is an answer with a verdict that is known, or an error; what is an answer says the same when it is written
// again.
func FuzzParseAnswer(f *testing.F) {
	for _, line := range []string{
		`{"id":1,"verdict":"accept"}`, `{"id":18446744073709551615,"verdict":"continue","mark":255}`, `{"id":7,"verdict":"more"}` + "\n",
		`{"id":1}`, `{"id":-1,"verdict":"drop"}`, `{"id":1,"verdict":"drop","mark":300}`, `{"ID":1,"Verdict":"drop"}`, "no JSON\n", "[]", "null", "",
	} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		a, err := parseAnswer(line)
		if err != nil {
			return
		}
		if _, known := verdicts[a.Verdict]; !known && a.Verdict != more {
			t.Fatalf("%q has the verdict %q", line, a.Verdict)
		}
		written, err := json.Marshal(a)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := parseAnswer(written); err != nil || again != a {
			t.Errorf("%q is %+v, and written again %+v, %v", line, a, again, err)
		}
	})
}
