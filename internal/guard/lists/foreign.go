package lists

import (
	"bytes"
	"fmt"
	"strings"
)

// refuseForeign says what a text is that begins as no list of addresses does.
func refuseForeign(head []byte) error {
	text := bytes.TrimSpace(head)
	is := ""
	switch {
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		is = "compressed data"
	case bytes.HasPrefix(head, []byte{0xff, 0xfe}), bytes.HasPrefix(head, []byte{0xfe, 0xff}):
		is = "text in UTF-16, save it as UTF-8"
	case bytes.IndexByte(head, 0) >= 0:
		is = "binary data"
	case bytes.HasPrefix(text, []byte("<")):
		is = "HTML or XML"
	case bytes.HasPrefix(text, []byte("{")), bytes.HasPrefix(text, []byte("[")):
		is = "JSON"
	default:
		return nil
	}
	return fmt.Errorf("%w but %s: look at what its address or its file really holds", ErrNoList, is)
}

// isHTML reports whether a server calls its answer a page.
func isHTML(contentType string) bool {
	kind, _, _ := strings.Cut(contentType, ";")
	kind = strings.ToLower(strings.TrimSpace(kind))
	return kind == "text/html" || kind == "application/xhtml+xml"
}
