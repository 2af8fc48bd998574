package bugreport

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
)

const hidden = "<hidden>"

// secretKey is a key, of YAML, JSON, an environment or a command line, whose value is nobody's business.
const secretKey = `[a-z0-9_.-]*(?:secret|passw|passphrase|pwd|token|credential|authori[sz]ation|auth[_-]?key|api[_-]?key|private[_-]?key|access[_-]?key|cookie|bearer|signature|community)[a-z0-9_.-]*` //nolint:gosec // it is how they are called

// How secrets look wherever they stand: what is hidden is the last group of each.
var patterns = []*regexp.Regexp{
	regexp.MustCompile(`(?s)(-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----)(.*?-----END [A-Z0-9 ]*PRIVATE KEY-----|.*$)`),
	regexp.MustCompile(`(?i)(["']?\b` + secretKey + `["']?\s*[:=]\s*)("(?:[^"\\]|\\.)*"|'[^']*'|(?:(?:basic|bearer|digest|token)\s+)?[^\s,;&}\]]+)`),
	regexp.MustCompile(`(?i)(--?` + secretKey + `\s+)([^\s,;]+)`),
	regexp.MustCompile(`(?i)(\b(?:basic|bearer)\s+)([a-z0-9+/_.~=-]{8,})`),
	regexp.MustCompile(`(?i)(\b[a-z][a-z0-9+.-]*://)([^\s/@"'<>]+@)`),                        // who somebody is, and the password
	regexp.MustCompile(`(?i)(\bhttps?://[^\s/"'<>?]+)([/?][^\s"'<>)\]},]+)`),                 // Slack, Discord and Telegram have them in paths
	regexp.MustCompile(`()(\brg_[A-Za-z0-9_-]{8,})`),                                         // tokens of our own
	regexp.MustCompile(`()(\b(?:gh[pousr]_|xox[abprs]-|sk-|AKIA|glpat-)[A-Za-z0-9_-]{10,})`), // of others that are known by how they begin
	regexp.MustCompile(`()(\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*)`),         // JSON Web Tokens
	regexp.MustCompile(`()(\b[0-9]{8,10}:[A-Za-z0-9_-]{35}\b)`),                              // Telegram's
}

// Scrub takes secrets out of a text: those that are known, in whatever form they stand there, and what looks like one.
func Scrub(known []string) Clean {
	known = slices.Clone(known)
	slices.SortFunc(known, func(a, b string) int { return len(b) - len(a) }) // one may be in another
	return func(text []byte) []byte {
		for _, secret := range known {
			if len(secret) >= leastKnown {
				text = bytes.ReplaceAll(text, []byte(secret), []byte(hidden))
			}
		}
		for _, p := range patterns {
			text = p.ReplaceAll(text, []byte("${1}"+hidden))
		}
		return text
	}
}

// leastKnown is the least length of a secret that is sought as it is: a shorter one is in too many words.
const leastKnown = 4

// isSecretKey reports whether the value of a key is hidden.
func isSecretKey(key string) bool { return wholeKey.MatchString(strings.TrimSpace(key)) }

var wholeKey = regexp.MustCompile(`(?i)^(?:` + secretKey + `|headers?|env|environment)$`)
