package event

import (
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"testing"
)

// Every type that has a kind is in All, once, and no two have the same kind.
func TestAllHasEach(t *testing.T) {
	t.Parallel()
	types := map[string]bool{}
	for _, name := range []string{"event.go", "edge.go"} {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Name.Name == "Kind" {
				types[f.Recv.List[0].Type.(*ast.Ident).Name] = true
			}
		}
	}
	kinds := map[Kind]bool{}
	for _, e := range All() {
		name := reflect.TypeOf(e).Name()
		if !types[name] || kinds[e.Kind()] {
			t.Errorf("%s is there twice, or has another's kind %s", name, e.Kind())
		}
		delete(types, name)
		kinds[e.Kind()] = true
	}
	if len(types) > 0 {
		t.Errorf("not in All: %v", types)
	}
}
