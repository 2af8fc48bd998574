package api

import (
	"bytes"
	"encoding"
	"encoding/json"
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write openapi.json anew")

// The file is what routes and types say; the comments of their source are its descriptions.
func TestOpenAPI(t *testing.T) {
	t.Parallel()
	text, err := json.MarshalIndent(document(t), "", " ")
	if err != nil {
		t.Fatal(err)
	}
	text = append(text, '\n')
	if *update {
		if err := os.WriteFile("openapi.json", text, 0o644); err != nil { //nolint:gosec // everybody may read it
			t.Fatal(err)
		}
		return
	}
	if !bytes.Equal(text, openAPI) {
		t.Error("openapi.json is not what routes and types say: run go test ./internal/api -run TestOpenAPI -update")
	}
	if w := ask(t, &fakeGateway{}, http.MethodGet, "/v1/openapi.json"); !bytes.Equal(w.Body.Bytes(), openAPI) {
		t.Error("it is not served")
	}
}

// Others can read it.
func TestOpenAPIIsValid(t *testing.T) {
	t.Parallel()
	command := exec.CommandContext(t.Context(), "go", "tool", "-modfile=tools/go.mod", "validate", "--", "internal/api/openapi.json")
	command.Dir = "../.."
	if output, err := command.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, output)
	}
}

type object = map[string]any

func document(t *testing.T) object {
	s := schemas{made: object{}, comments: comments(t)}
	problem := object{"description": "It was refused.", "content": object{"application/problem+json": object{"schema": s.of(reflect.TypeFor[Problem]())}}}
	s.of(reflect.TypeFor[Failed]())
	paths := object{}
	for _, r := range Routes() {
		path, _ := paths[r.Path].(object)
		if path == nil {
			path = object{}
			paths[r.Path] = path
		}
		operation := object{
			"summary": r.Short, "operationId": operationID(r), "x-role": r.Role.String(),
			"responses": object{"200": s.answer(r), "default": problem},
		}
		if parameters := parametersOf(r); len(parameters) > 0 {
			operation["parameters"] = parameters
		}
		if r.Body != nil {
			operation["requestBody"] = object{"required": true, "content": object{"application/json": object{"schema": s.of(reflect.TypeOf(r.Body))}}}
		}
		path[strings.ToLower(r.Method)] = operation
	}
	return object{
		"openapi": "3.1.0",
		"info": object{
			"title": "Realmgate's control API", "version": "1",
			"description": "HTTP over a Unix socket. x-role is the least role that a request takes. What goes wrong in a stream that has begun is its last line, a Failed.",
		},
		"servers":    []any{object{"url": "http://realmgate", "description": "The host is any: the socket is /run/realmgate/INSTANCE.sock."}},
		"paths":      paths,
		"components": object{"schemas": s.made},
	}
}

func operationID(r Route) string {
	words := strings.FieldsFunc(r.Path, func(c rune) bool { return c == '/' || c == '.' })
	return strings.ToLower(r.Method) + "_" + strings.Join(words, "_")
}

func parametersOf(r Route) (list []any) {
	for _, p := range r.Takes {
		kind := object{"type": map[bool]string{true: "integer", false: "string"}[p.Integer]}
		if p.Values != nil {
			kind["enum"] = p.Values
		}
		list = append(list, object{"name": p.Name, "in": "query", "required": p.Required, "description": p.Short, "schema": kind})
	}
	if r.Form == Events {
		list = append(list, object{
			"name": "Last-Event-ID", "in": "header", "description": "The id of the last message that was heard: what came since comes first.", "schema": object{"type": "string"},
		})
	}
	if r.Method == http.MethodPost && (r.Path == "/v1/reload" || strings.HasPrefix(r.Path, "/v1/chains/")) {
		list = append(list, object{
			"name": "If-Match", "in": "header", "description": "The generation that the change was made for, as the ETag of /v1/status: else it is refused with 412.",
			"schema": object{"type": "string"},
		})
	}
	return list
}

// schemas are those of the types met so far, as JSON Schema 2020-12 has them.
type schemas struct {
	made     object
	comments map[string]string // of types and fields, by package.Type and package.Type.Field
}

func (s schemas) answer(r Route) object {
	answer := object{"description": "It is done."}
	if r.Method == http.MethodGet {
		answer["description"] = r.Short
	}
	lines := func() object {
		return object{"schema": object{
			"description": "Of each line.",
			"anyOf":       []any{s.of(reflect.TypeOf(r.Answer)), s.of(reflect.TypeFor[More]()), ref("Failed")},
		}}
	}
	switch r.Form {
	case Text:
		answer["content"] = object{"text/plain": object{"schema": object{"type": "string"}}}
		if strings.HasSuffix(r.Path, ".json") {
			answer["content"] = object{"application/json": object{"schema": object{"type": "object"}}}
		}
	case Events:
		answer["content"] = object{"text/event-stream": object{"schema": object{
			"type": "string", "description": "Messages with an id, an event, which is a topic, and JSON in one line of data. The event lost says how many of these topics were lost, reset that it is not known what came since Last-Event-ID.",
		}}}
	case Live:
		answer["content"] = object{"application/x-ndjson": lines()}
	case Rows:
		page := object{"type": "object", "required": []string{"items"}, "properties": object{
			"items": object{"type": "array", "items": s.of(reflect.TypeOf(r.Answer))},
			"next":  object{"type": "string", "description": "The cursor of the page that follows; left out: this is the last."},
		}}
		answer["content"] = object{"application/json": object{"schema": page}, "application/x-ndjson": lines()}
	default:
		answer["content"] = object{"application/json": object{"schema": s.of(reflect.TypeOf(r.Answer))}}
	}
	return answer
}

func ref(name string) object { return object{"$ref": "#/components/schemas/" + name} }

// of is the schema of a type; structs are made once, and referred to.
func (s schemas) of(t reflect.Type) object {
	switch {
	case t == reflect.TypeFor[time.Time]():
		return object{"type": "string", "format": "date-time"}
	case t == reflect.TypeFor[json.RawMessage]():
		return object{"type": "object"}
	case reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextMarshaler]()):
		return object{"type": "string"}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return s.of(t.Elem())
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.String:
		return object{"type": "string"}
	case reflect.Float64:
		return object{"type": "number"}
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return object{"type": "string", "contentEncoding": "base64"}
		}
		return object{"type": "array", "items": s.of(t.Elem())}
	case reflect.Map:
		return object{"type": "object", "additionalProperties": s.of(t.Elem())}
	case reflect.Struct:
		if _, made := s.made[t.Name()]; !made {
			s.made[t.Name()] = object{} // a type may hold itself
			s.made[t.Name()] = s.structure(t)
		}
		return ref(t.Name())
	}
	return object{"type": "integer"}
}

func (s schemas) structure(t reflect.Type) object {
	properties, required := object{}, []string{}
	s.fields(t, properties, &required)
	made := object{"type": "object", "properties": properties}
	if len(required) > 0 {
		made["required"] = required
	}
	if text := s.comments[t.String()]; text != "" {
		made["description"] = text
	}
	return made
}

func (s schemas) fields(t reflect.Type, properties object, required *[]string) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			s.fields(f.Type, properties, required)
			continue
		case name == "-":
			continue
		}
		property := maps.Clone(s.of(f.Type))
		if text := s.comments[t.String()+"."+f.Name]; text != "" {
			if property["$ref"] != nil { // readers of 3.0 want nothing beside it
				property = object{"allOf": []any{property}}
			}
			property["description"] = text
		}
		properties[name] = property
		if options == "" {
			*required = append(*required, name)
		}
	}
	slices.Sort(*required)
}

// comments reads those of the packages whose types are written.
func comments(t *testing.T) map[string]string {
	found := map[string]string{}
	for _, folder := range []string{".", "../model", "../events/event"} {
		files, err := filepath.Glob(folder + "/*.go")
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, func(n ast.Node) bool {
				declared, ok := n.(*ast.GenDecl)
				if !ok || declared.Tok != token.TYPE {
					return true
				}
				for _, spec := range declared.Specs {
					typed := spec.(*ast.TypeSpec)
					full := file.Name.Name + "." + typed.Name.Name
					found[full] = line(declared.Doc)
					if structure, ok := typed.Type.(*ast.StructType); ok {
						for _, f := range structure.Fields.List {
							for _, name := range f.Names {
								found[full+"."+name.Name] = strings.TrimSpace(line(f.Doc) + " " + line(f.Comment))
							}
						}
					}
				}
				return false
			})
		}
	}
	return found
}

// line is a comment without its line breaks.
func line(c *ast.CommentGroup) string { return strings.Join(strings.Fields(c.Text()), " ") }
