package cli

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
)

// jsonArray writes an array with an element per line. It is complete only after
// end: an answer that breaks off must not parse as if it were whole.
type jsonArray struct {
	w     *bufio.Writer
	lines int
}

func newJSONArray(w io.Writer) *jsonArray { return &jsonArray{w: bufio.NewWriter(w)} }

func (a *jsonArray) add(value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("write the answer: %w", err)
	}
	return a.line(text)
}

// line adds a value that is JSON already.
func (a *jsonArray) line(text []byte) error {
	before := ",\n"
	if a.lines == 0 {
		before = "[\n"
	}
	a.lines++
	_, _ = a.w.WriteString(before) // a bufio.Writer keeps its error for the next call
	_, err := a.w.Write(text)
	return written(err)
}

func (a *jsonArray) flush() error { return written(a.w.Flush()) }

func (a *jsonArray) end() error {
	after := "\n]\n"
	if a.lines == 0 {
		after = "[]\n"
	}
	_, _ = a.w.WriteString(after) // as above
	return a.flush()
}

// writeJSONArray writes values as one array.
func writeJSONArray[T any](w io.Writer, values []T) error {
	array := newJSONArray(w)
	for _, value := range values {
		if err := array.add(value); err != nil {
			return err
		}
	}
	return array.end()
}

// writeJSON writes one value for people and machines alike.
func writeJSON(w io.Writer, value any) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return written(encoder.Encode(value))
}
