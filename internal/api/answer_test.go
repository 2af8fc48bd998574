package api

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// described is openapi.json, for whom holds values against a schema in it.
func described(t *testing.T) (schemaOf func(path ...string) *jsonschema.Schema) {
	t.Helper()
	whole, err := jsonschema.UnmarshalJSON(bytes.NewReader(openAPI))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	if err := c.AddResource("openapi.json", whole); err != nil {
		t.Fatal(err)
	}
	escape := strings.NewReplacer("~", "~0", "/", "~1")
	return func(path ...string) *jsonschema.Schema {
		pointer := "openapi.json#"
		for _, p := range path {
			pointer += "/" + escape.Replace(p)
		}
		made, err := c.Compile(pointer) // once of each
		if err != nil {
			t.Fatal(err)
		}
		return made
	}
}

// Every answer, and every refusal, is what openapi.json says: of a gateway that has nothing, and of one that has all.
func TestAnswersAreAsDescribed(t *testing.T) {
	t.Parallel()
	schemaOf := described(t)
	refused := schemaOf("components", "schemas", "Problem")
	for _, r := range Routes() {
		operation := []string{"paths", r.Path, strings.ToLower(r.Method), "responses", "200", "content"}
		for what, g := range map[string]*fakeGateway{"empty": {}, "full": full(t), "broken": {err: errBroken}} {
			g.drop = func(_ context.Context, visit func(Drop) bool) error { visit(filled[Drop](t)); return g.err }
			g.capture = func(_ context.Context, _ CaptureRequest, _ func(), visit func([]Packet) bool) error {
				visit([]Packet{filled[Packet](t)})
				return g.err
			}
			for _, accept := range []string{"application/json", "application/x-ndjson"} {
				w := httptest.NewRecorder()
				request := httptest.NewRequestWithContext(t.Context(), r.Method, r.Path+example(r), strings.NewReader(body(r)))
				request.Header.Set("Accept", accept)
				handlerOf(g).ServeHTTP(w, request)
				kind, _, _ := strings.Cut(w.Header().Get("Content-Type"), ";")
				schema := refused
				if w.Code == http.StatusOK {
					schema = schemaOf(append(operation, kind, "schema")...)
				} else if what != "broken" || kind != "application/problem+json" {
					t.Errorf("%s of a gateway that is %s: %d %s", r.pattern(), what, w.Code, w.Body)
				}
				if kind == "text/plain" || kind == "text/event-stream" {
					continue
				}
				for line := range strings.Lines(w.Body.String()) {
					value, err := jsonschema.UnmarshalJSON(strings.NewReader(line))
					if r.Path == "/v1/openapi.json" {
						break // it has lines of its own
					}
					if err == nil {
						err = schema.Validate(value)
					}
					if err != nil {
						t.Errorf("%s of a gateway that is %s: %s: %v", r.pattern(), what, line, err)
					}
				}
			}
		}
	}
}

// example is a query that has what a route requires.
func example(r Route) string {
	switch r.Path {
	case "/v1/trace":
		return "?address=192.0.2.1&port=40312&at=2026-11-30T09:12:03.25Z"
	case "/v1/explain":
		return "?address=203.0.113.7"
	case "/v1/capture":
		return "?chain=web"
	case "/v1/sessions/summary":
		return "?by=remote24"
	case "/v1/stream":
		return "?topics=bans,drops"
	}
	return ""
}

// body is one that a route takes.
func body(r Route) string {
	switch r.Body.(type) {
	case nil:
		return ""
	case BanRequest:
		return `{"prefixes":["203.0.113.7/32"],"seconds":60}`
	case ListRequest:
		return `{"lists":["a"]}`
	case TokenRequest:
		return `{"name":"a","role":"read","seconds":60}`
	case RollbackRequest:
		return `{"number":7}`
	case TokenName:
		return `{"name":"a"}`
	}
	if strings.HasSuffix(r.Path, "remove") {
		return `{"chain":"web","function":"a"}`
	}
	return `{"chain":"web","function":"a","after":"b"}`
}

// full is a gateway that has one of everything, with every field.
func full(t *testing.T) *fakeGateway {
	return &fakeGateway{
		sessions: []Session{filled[Session](t)}, pool: []Binding{filled[Binding](t)}, hosts: []Host{filled[Host](t)}, chains: []Chain{filled[Chain](t)},
		bans: []Ban{filled[Ban](t)}, jails: []Jail{filled[Jail](t)}, events: []Sink{filled[Sink](t)}, lists: []List{filled[List](t)}, history: []HistoryEntry{filled[HistoryEntry](t)}, status: filled[Status](t),
	}
}

// filled is a value no part of which is zero, as far as JSON shows it.
func filled[T any](t *testing.T) (value T) {
	t.Helper()
	fill(reflect.ValueOf(&value).Elem())
	return value
}

func fill(v reflect.Value) {
	if at, ok := v.Addr().Interface().(*time.Time); ok {
		*at = time.Unix(1_800_000_000, 0)
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				fill(v.Field(i))
			}
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.ValueOf("a"), reflect.ValueOf("b"))
	case reflect.String:
		v.SetString("a")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(1)
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(1)
	case reflect.Float64:
		v.SetFloat(0.5)
	}
}
