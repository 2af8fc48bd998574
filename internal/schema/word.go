package schema

import "fmt"

// Word returns the i-th word, or kind and number where there is none.
func Word(i int, kind string, words ...string) string {
	if i < len(words) {
		return words[i]
	}
	return fmt.Sprintf("%s-%d", kind, i)
}
