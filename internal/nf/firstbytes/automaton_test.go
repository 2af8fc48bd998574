package firstbytes

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// verdictOf is what signatures say of a payload, looked at one after the other: 0 where
// more bytes would tell.
func verdictOf(f FirstBytes, payload []byte) uint16 {
	begins := func(s Signature, p []byte) bool {
		for i := range min(len(s), len(p)) {
			if !s[i].Any && s[i].Value != p[i] {
				return false
			}
		}
		return true
	}
	open := func(list []Signature, p []byte) bool {
		return slices.ContainsFunc(list, func(s Signature) bool { return len(s) > len(p) && begins(s, p) })
	}
	has := func(list []Signature, p []byte) bool {
		return slices.ContainsFunc(list, func(s Signature) bool { return len(s) <= len(p) && begins(s, p) })
	}
	switch {
	case has(f.Deny, payload):
		return drops
	case open(f.Deny, payload):
		return 0
	case len(f.Allow) == 0 || has(f.Allow, payload):
		return passes
	case open(f.Allow, payload):
		return 0
	}
	return drops
}

func readThrough(nodes []firstBytesFirstBytesNode, payload []byte) uint16 {
	at := uint16(0)
	for _, b := range payload {
		if at = nodes[at].Next[b]; at == passes || at == drops {
			return at
		}
	}
	return 0
}

// drawBytes draws few different values, so that signatures have much in common.
func drawBytes(t *rapid.T, least, most int, name string) []byte {
	return rapid.SliceOfN(rapid.SampledFrom([]byte("abS\x00")), least, most).Draw(t, name)
}

func drawSignatures(t *rapid.T, name string, least int) []Signature {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) (s Signature) {
		for _, b := range drawBytes(t, 1, 5, "signature") {
			s = append(s, Byte{Value: b, Any: rapid.IntRange(0, 4).Draw(t, "any") == 0})
		}
		return s
	}), least, 12).Draw(t, name)
}

// Of any signatures and payload the automaton says what they say one after the other.
func TestAutomatonSaysWhatSignaturesDo(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := FirstBytes{Deny: drawSignatures(t, "deny", 0), Allow: drawSignatures(t, "allow", 1)}
		if rapid.Bool().Draw(t, "deny only") {
			f = FirstBytes{Deny: f.Allow}
		}
		nodes, err := f.automaton()
		if err != nil {
			t.Fatal(err)
		}
		for range 50 {
			payload := drawBytes(t, 0, 8, "payload")
			if got, want := readThrough(nodes, payload), verdictOf(f, payload); got != want {
				t.Fatalf("of %q: %#x, want %#x (%+v)", payload, got, want, f)
			}
		}
	})
}

// text is a signature without any ??.
func text(s string) (made Signature) {
	for _, b := range []byte(s) {
		made = append(made, Byte{Value: b})
	}
	return made
}

// What does not fit is refused: the kernel never sees a table that is larger.
func TestAutomatonIsBounded(t *testing.T) {
	t.Parallel()
	long := make(Signature, MostSignature+1)
	for name, f := range map[string]FirstBytes{
		"none":         {},
		"one is empty": {Deny: []Signature{{}}},
		"one too long": {Deny: []Signature{long}},
		"too many":     {Deny: make([]Signature, MostSignatures+1)},
		"too wild":     wild(),
	} {
		if _, err := f.automaton(); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	most := FirstBytes{}
	for i := range MostSignatures {
		most.Allow = append(most.Allow, append(text(string(rune('0'+i))), long[:MostSignature-1]...))
	}
	if nodes, err := most.automaton(); err != nil || len(nodes) == 0 {
		t.Errorf("as many and as long ones as may be: %d nodes, %v", len(nodes), err)
	}
}

// wild has signatures of which each set may be left, whichever bytes come.
func wild() (f FirstBytes) {
	for i := range 20 {
		s := make(Signature, MostSignature)
		for at := range s {
			s[at].Any = at != i
		}
		s[i].Value = 'x'
		f.Deny = append(f.Deny, s)
	}
	return f
}
