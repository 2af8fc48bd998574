package config

import "path/filepath"

// mostArguments is how many parts the argument vector of a command may have.
const mostArguments = 64

// argument is a part of a command's argument vector.
func argument() kind[string] {
	k := lineOfText("text", "argument vector, absolute path first", "an argument")
	k.tags = []string{"!!str", "!!int"} // -n 0 is meant as it is written
	return k
}

// finishCommand checks an argument vector as a whole.
func finishCommand(faults *faultLog, path string, parts []at[string], line int) (argv []string) {
	for _, part := range parts {
		argv = append(argv, part.value)
	}
	switch {
	case len(argv) > mostArguments:
		faults.add(line, "%s.command: there are %d arguments, at most %d are allowed", path, len(argv), mostArguments)
	case len(argv) > 0 && !filepath.IsAbs(argv[0]):
		faults.add(parts[0].line, "%s.command: give the absolute path of the program, and each argument apart, not %s: no shell splits them",
			path, quote(argv[0]))
	}
	return argv
}
