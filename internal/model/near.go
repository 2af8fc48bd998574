package model

import "strings"

// longestNear is the longest word, in bytes, that a name is looked for.
const longestNear = 40

// Near returns those of the names that somebody may have meant who wrote another word: it
// begins them, or is two letters away, one of names below four.
func Near(word string, names []string) (near []string) {
	if word == "" || len(word) > longestNear {
		return nil
	}
	for _, name := range names {
		if strings.HasPrefix(name, word) || distance(strings.ToLower(word), name) <= min(1+len(name)/4, 2) {
			near = append(near, name)
		}
	}
	return near
}

// distance is the number of letters to insert, delete or replace to get from a
// to b (Levenshtein).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
