package config

import (
	"bytes"
	"fmt"
	"slices"
)

// File is one file of a configuration, and what it says.
type File struct {
	Path string `json:"path"`
	Text []byte `json:"text"`
}

// Files are those that the document was read from, in their order.
func (d *Document) Files() []File { return filesFrom(d.sources()) }

// FilesAt are those of now, whatever they say.
func FilesAt(path string) ([]File, error) {
	sources, err := readSources(path)
	if err != nil {
		return nil, fmt.Errorf("read the configuration: %w", err)
	}
	return filesFrom(sources), nil
}

// FromFiles is Read of files that are somewhere else, or were at another time.
func FromFiles(files []File) (*Document, error) {
	sources := make([]source, len(files))
	for i, f := range files {
		sources[i] = source{f.Path, f.Text}
	}
	return newDocument(sources, nil)
}

// SameFiles reports whether all of them say the same.
func SameFiles(a, b []File) bool {
	return slices.EqualFunc(a, b, func(a, b File) bool { return a.Path == b.Path && bytes.Equal(a.Text, b.Text) })
}

func filesFrom(sources []source) []File {
	files := make([]File, len(sources))
	for i, s := range sources {
		files[i] = File{s.file, s.text}
	}
	return files
}
