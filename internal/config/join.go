package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/realmgate/realmgate/internal/schema"
)

// mostFiles bounds the files of a folder.
const mostFiles = 256

// source is one file of a configuration.
type source struct {
	file string
	text []byte
}

// filesOf are the file and, in the order of their names, those in the folder beside it: realmgate.d/*.yaml for realmgate.yaml.
func filesOf(path string) ([]string, error) {
	folder := strings.TrimSuffix(path, filepath.Ext(path)) + ".d"
	entries, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	files := []string{path}
	for _, e := range entries {
		if name := e.Name(); filepath.Ext(name) == ".yaml" && !strings.HasPrefix(name, ".") {
			files = append(files, filepath.Join(folder, name))
		}
	}
	if n := len(files) - 1; n > mostFiles {
		return nil, fmt.Errorf("%s has %d files, at most %d are allowed", folder, n, mostFiles)
	}
	return files, nil
}

func faultsOf(sources []source) *schema.Faults {
	faults := &schema.Faults{File: sources[0].file}
	for _, s := range sources[1:] {
		faults.More = append(faults.More, s.file)
	}
	return faults
}

// join makes one root of all files: their lists are one behind another, and what else has two values is a fault.
func join(faults *schema.Faults, sources []source) *yaml.Node {
	var root *yaml.Node
	for i, s := range sources {
		node := parseSource(faults, s, i)
		switch {
		case root == nil:
			root = node
		case node == nil:
		case node.Kind != yaml.MappingNode || root.Kind != yaml.MappingNode:
			faults.Add(node.Line, "want a mapping, as in the other files")
		case hasVersion(faults, node):
			merge(faults, root, node, "")
		}
	}
	return root
}

// parseSource is the root of the i-th file, nil where it has none. Further files may be empty.
func parseSource(faults *schema.Faults, s source, i int) *yaml.Node {
	own := &schema.Faults{File: s.file}
	if len(s.text) > maxFile {
		own.Add(1, "the file is larger than %d bytes", maxFile)
	} else if root, ok := parseYAML(own, s.text, emptyProblem); ok && own.Err() == nil {
		shift(root, faults.Shift(i))
		return root
	}
	var found schema.Errors
	errors.As(own.Err(), &found)
	for _, e := range found {
		if i == 0 || e.Message != emptyProblem {
			faults.Add(e.Line+faults.Shift(i), "%s", e.Message)
		}
	}
	return nil
}

func shift(node *yaml.Node, lines int) {
	node.Line += lines
	for _, child := range node.Content {
		shift(child, lines)
	}
}

// merge adds a section of a further file to those before it.
func merge(faults *schema.Faults, into, from *yaml.Node, path string) {
	own := map[string]int{} // the lines of its keys
	for i := 0; i+1 < len(from.Content); i += 2 {
		key, value := from.Content[i], from.Content[i+1]
		at := keyIndex(into, key.Value)
		full := schema.Join(path, key.Value)
		first, twice := own[key.Value]
		own[key.Value] = key.Line
		switch {
		case twice:
			faults.Add(key.Line, "%s: duplicate key, first given at line %d", full, first)
		case at < 0:
			into.Content = append(into.Content, key, value)
		case full == "version":
		case into.Content[at+1].Kind == yaml.SequenceNode && value.Kind == yaml.SequenceNode:
			into.Content[at+1].Content = append(into.Content[at+1].Content, value.Content...)
		case into.Content[at+1].Kind == yaml.MappingNode && value.Kind == yaml.MappingNode:
			merge(faults, into.Content[at+1], value, full)
		default:
			faults.Add(key.Line, "%s: duplicate key, first given at line %d", full, into.Content[at].Line)
		}
	}
}
