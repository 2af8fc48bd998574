package repo

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var (
	logMessage = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9 '/-]{2,59}$`)
	logKey     = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)
	logMethods = map[string]bool{"Debug": true, "Info": true, "Warn": true, "Error": true}
)

// checkLogs wants messages of the log to be short constants without a sentence's punctuation, so that
// they can be searched and counted, and keys in snake_case.
func checkLogs(r tree) (problems []string) {
	for _, file := range r.files {
		if !strings.HasPrefix(file, "internal/") || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, _ := r.read(file)
		set := token.NewFileSet()
		parsed, err := parser.ParseFile(set, file, text, 0)
		if err != nil {
			problems = append(problems, err.Error())
			continue
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok && isLog(call) {
				for _, why := range logProblems(call) {
					problems = append(problems, fmt.Sprintf("%s: %s", set.Position(call.Pos()), why))
				}
			}
			return true
		})
	}
	return problems
}

// isLog reports whether a call is a method of a logger, which is called log, Log, logger or Logger.
func isLog(call *ast.CallExpr) bool {
	method, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || !logMethods[method.Sel.Name] || len(call.Args) == 0 {
		return false
	}
	var receiver string
	switch x := method.X.(type) {
	case *ast.Ident:
		receiver = x.Name
	case *ast.SelectorExpr:
		receiver = x.Sel.Name
	}
	receiver = strings.ToLower(receiver)
	return receiver == "log" || receiver == "logger" || receiver == "slog"
}

func logProblems(call *ast.CallExpr) (problems []string) {
	if message, ok := literal(call.Args[0]); !ok || !logMessage.MatchString(message) {
		problems = append(problems, fmt.Sprintf("the message %q is no short constant: what is to be done is of the key hint", message))
	}
	for i := 1; i < len(call.Args); i += 2 {
		if key, ok := literal(call.Args[i]); !ok && call.Ellipsis == token.NoPos || ok && !logKey.MatchString(key) {
			problems = append(problems, fmt.Sprintf("the key %q is not in snake_case", key))
		}
	}
	return problems
}

func literal(x ast.Expr) (text string, ok bool) {
	l, ok := x.(*ast.BasicLit)
	if !ok || l.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(l.Value)
	return text, err == nil
}

func TestLogs(t *testing.T) {
	t.Parallel()
	upholds(t, checkLogs)
}

func TestLogsCanFail(t *testing.T) {
	t.Parallel()
	file := func(call string) map[string]string {
		return map[string]string{"internal/a/a.go": "package a\nfunc f() {\n" + call + "\n}\n"}
	}
	rejects(t, checkLogs, file(`s.Log.Warn("a ban is not in force: too many are exempt")`), "no short constant")
	rejects(t, checkLogs, file(`s.log.Info(text)`), "no short constant")
	rejects(t, checkLogs, file(`logger.Error("sweep failed", "bytes per session", 3)`), `the key "bytes per session"`)
	rejects(t, checkLogs, file(`g.log.Error("sweep failed", key, 3)`), `the key ""`)
}
