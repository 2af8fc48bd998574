package schema

import (
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
)

// LongestURL is the most bytes that a URL has.
const LongestURL = 2048

const (
	longestText   = 4096 // bytes of a pattern, an argument or a path
	mostArguments = 64   // parts of the argument vector of a command
)

// Text is some text that a program or a file system can take, on one line.
func Text(name, allowed, want string) Kind[string] {
	return Kind[string]{
		Name: name, Allowed: allowed, Want: want, Tags: TextTag,
		Show: func(s string) string { return s },
		Parse: func(text string) (string, error) {
			switch {
			case text == "":
				return "", ErrNoHint
			case len(text) > longestText:
				return "", fmt.Errorf("it is longer than %d bytes", longestText)
			case strings.ContainsAny(text, "\x00\r\n"):
				return "", errors.New("it has a NUL or the end of a line in it")
			}
			return text, nil
		},
	}
}

// AbsolutePath is a path that means the same from every folder.
func AbsolutePath() Kind[string] {
	k := Text("path", "absolute path", "an absolute path, as /var/log/auth.log")
	parse := k.Parse
	k.Parse = func(text string) (string, error) {
		if !filepath.IsAbs(text) {
			return "", ErrNoHint
		}
		return parse(text)
	}
	return k
}

// FileName is the name of a file, beside the configuration file unless it begins with "/".
func FileName() Kind[string] {
	return Kind[string]{
		Name: "file", Allowed: "path, from the folder of this file on", Want: "the path of a file", Tags: TextTag,
		Show: func(s string) string { return s },
		Parse: func(text string) (string, error) {
			if text == "" || strings.IndexByte(text, 0) >= 0 {
				return "", ErrNoHint
			}
			return text, nil
		},
	}
}

// URL is one of http or https.
func URL() Kind[string] {
	return Kind[string]{
		Name: "URL", Allowed: "http:// or https://, and a host", Want: "a URL (https://lists.example/drop.txt)", Tags: TextTag,
		Show: func(s string) string { return s },
		Parse: func(text string) (string, error) {
			u, err := url.Parse(text)
			switch {
			case len(text) > LongestURL:
				return "", fmt.Errorf("it is longer than %d bytes", LongestURL)
			case err != nil || u.Scheme != "http" && u.Scheme != "https":
				return "", ErrNoHint
			case u.Hostname() == "":
				return "", errors.New("it has no host")
			}
			if port := u.Port(); port != "" {
				if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
					return "", fmt.Errorf("port %s is not one of 1 to 65535", port)
				}
			}
			return text, nil
		},
	}
}

// Argument is a part of a command's argument vector.
func Argument() Kind[string] {
	k := Text("text", "argument vector, absolute path first", "an argument")
	k.Tags = []string{"!!str", "!!int"} // -n 0 is meant as it is written
	return k
}

// Command checks an argument vector as a whole. path and line are those of the key.
func Command(faults *Faults, path string, parts []At[string], line int) []string {
	argv := Values(parts)
	switch {
	case len(argv) > mostArguments:
		faults.Add(line, "%s: there are %d arguments, at most %d are allowed", path, len(argv), mostArguments)
	case len(argv) > 0 && !filepath.IsAbs(argv[0]):
		faults.Add(parts[0].Line, "%s: give the absolute path of the program, and each argument apart, not %s: no shell splits them",
			path, Quote(argv[0]))
	}
	return argv
}
