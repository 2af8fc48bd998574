package config

import (
	"path/filepath"

	"github.com/realmgate/realmgate/internal/schema"
)

// mostArguments is how many parts the argument vector of a command may have.
const mostArguments = 64

// argument is a part of a command's argument vector.
func argument() schema.Kind[string] {
	k := lineOfText("text", "argument vector, absolute path first", "an argument")
	k.Tags = []string{"!!str", "!!int"} // -n 0 is meant as it is written
	return k
}

// finishCommand checks an argument vector as a whole.
func finishCommand(faults *schema.Faults, path string, parts []schema.At[string], line int) (argv []string) {
	for _, part := range parts {
		argv = append(argv, part.Value)
	}
	switch {
	case len(argv) > mostArguments:
		faults.Add(line, "%s.command: there are %d arguments, at most %d are allowed", path, len(argv), mostArguments)
	case len(argv) > 0 && !filepath.IsAbs(argv[0]):
		faults.Add(parts[0].Line, "%s.command: give the absolute path of the program, and each argument apart, not %s: no shell splits them",
			path, schema.Quote(argv[0]))
	}
	return argv
}
