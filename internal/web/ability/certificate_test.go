package ability

import (
	"slices"
	"testing"

	"github.com/realmgate/realmgate/internal/model"
)

// site is one of names over TLS.
func site(names ...model.Name) Site {
	return Site{Names: names, Ports: []model.Port{{Protocol: model.TCP, Port: 443, To: 443}}}
}

func TestCovered(t *testing.T) {
	t.Parallel()
	a := newAnswerers([]Host{
		{Name: "a.example.", Sites: []Site{site("www.example.", "example.", "deep.a.example."), site("*.a.example.")}},
		{Name: "b.example.", Sites: []Site{site("shop.example.", "*.b.example.")}},
		{Name: "c.example.", Sites: []Site{site("own.b.example.", "*.in.b.example.")}},
		{Name: "d.example.", Sites: []Site{{Names: []model.Name{"old.example."}, Ports: []model.Port{{Protocol: model.TCP, Port: 80, To: 80}}}}},
	})
	for _, c := range []struct {
		host model.Name
		in   model.Name // a certificate
		want []cover
	}{
		{"a.example.", "www.example.", nil},
		{"a.example.", "elsewhere.test.", nil},
		{"a.example.", "shop.example.", []cover{{"a.example.", "b.example.", "shop.example."}}},
		// One label, not two and not none.
		{"a.example.", "*.example.", []cover{{"a.example.", "b.example.", "shop.example."}}},
		{"b.example.", "*.example.", []cover{{"b.example.", "a.example.", "www.example."}}},
		{"b.example.", "*.test.", nil},
		{"b.example.", "*.shop.example.", nil},
		// A wildcard of the configuration has any number of labels, and the closest one answers.
		{"a.example.", "one.two.b.example.", []cover{{"a.example.", "b.example.", "*.b.example."}}},
		{"a.example.", "*.b.example.", []cover{{"a.example.", "c.example.", "own.b.example."}, {"a.example.", "b.example.", "*.b.example."}}},
		{"a.example.", "*.two.b.example.", []cover{{"a.example.", "b.example.", "*.b.example."}}},
		{"a.example.", "*.in.b.example.", []cover{{"a.example.", "c.example.", "*.in.b.example."}}},
		{"a.example.", "b.example.", nil},
		// A name stands before the wildcard that it would be below.
		{"b.example.", "own.b.example.", []cover{{"b.example.", "c.example.", "own.b.example."}}},
		{"c.example.", "own.b.example.", nil},
		// Port 80 has no certificates.
		{"a.example.", "old.example.", nil},
	} {
		if got := slices.Collect(a.covered(c.host, c.in)); !slices.Equal(got, c.want) {
			t.Errorf("%s in a certificate of %s covers %v, want %v", c.in, c.host, got, c.want)
		}
	}
}

func TestParseCertificateName(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]model.Name{
		"WWW.Example": "www.example.", "*.example": "*.example.", "a_b.example": "a_b.example.",
		"": "", "*": "", "*.*.example": "", "w*.example": "", "a b": "", "a\x1b[2J.example": "", "xn--bcher-kva.example": "xn--bcher-kva.example.", "bücher.example": "",
	} {
		if got, ok := parseCertificateName(text); got != want || ok != (want != "") {
			t.Errorf("%q: %q, %v", text, got, ok)
		}
	}
}
