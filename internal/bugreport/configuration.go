package bugreport

import (
	"bytes"
	"net/url"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Configuration is the text of a configuration file without its secrets and comments, and these secrets, so that they are
// found elsewhere, too. Of a file that is no YAML only the keys are left.
func Configuration(text []byte) (clean []byte, secrets []string) {
	var root yaml.Node
	if err := yaml.Unmarshal(text, &root); err != nil {
		return keysOf(text), nil
	}
	c := &concealer{}
	c.walk(&root, false)
	var b bytes.Buffer
	encoder := yaml.NewEncoder(&b)
	encoder.SetIndent(2)
	if err := encoder.Encode(&root); err != nil {
		return keysOf(text), c.secrets
	}
	return b.Bytes(), c.secrets
}

// concealer hides what is secret in a tree, and notes it.
type concealer struct{ secrets []string }

func (c *concealer) walk(n *yaml.Node, secret bool) {
	n.HeadComment, n.LineComment, n.FootComment = "", "", "" // anything may stand there
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			key, value := n.Content[i], n.Content[i+1]
			c.walk(key, false)
			switch {
			case key.Value == "command" && value.Kind == yaml.SequenceNode: // the program stays
				for _, argument := range value.Content[min(1, len(value.Content)):] {
					c.walk(argument, true)
				}
				if len(value.Content) > 0 {
					c.walk(value.Content[0], false)
				}
			default:
				c.walk(value, secret || isSecretKey(key.Value) && !isPath(value))
			}
		}
	case yaml.ScalarNode:
		c.scalar(n, secret)
	default:
		for _, child := range n.Content {
			c.walk(child, secret)
		}
	}
}

// isPath reports whether a value only says where a secret is.
func isPath(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && strings.HasPrefix(n.Value, "/") }

func (c *concealer) scalar(n *yaml.Node, secret bool) {
	if secret && n.Value != "" {
		c.hide(n.Value)
		n.SetString(hidden)
		return
	}
	u, err := url.Parse(n.Value)
	if err != nil || u.Host == "" {
		return
	}
	if password, has := u.User.Password(); has {
		c.hide(password)
	}
	rest := strings.TrimPrefix(u.EscapedPath(), "/")
	parts := strings.Split(rest, "/")
	for _, values := range u.Query() {
		parts = append(parts, values...)
	}
	for _, p := range parts {
		if len(p) >= leastPart {
			c.hide(p)
		}
	}
	if u.User != nil || rest != "" || u.RawQuery != "" {
		n.SetString(u.Scheme + "://" + u.Host + "/" + hidden)
	}
}

// leastPart is the least length of a part of a URL that is sought elsewhere: json and list are words.
const leastPart = 12

// hide notes a secret.
func (c *concealer) hide(secret string) {
	if secret != "" {
		c.secrets = append(c.secrets, secret)
	}
}

// keysOf keeps of each line what is before a colon, where that is a key.
func keysOf(text []byte) []byte {
	var b bytes.Buffer
	for line := range bytes.Lines(text) {
		key, _, found := bytes.Cut(line, []byte(":"))
		word := bytes.TrimLeft(key, " -\t")
		if found && len(word) > 0 && bytes.IndexFunc(word, func(r rune) bool { return r != '_' && (r < 'a' || r > 'z') }) < 0 {
			b.Write(key)
			b.WriteString(": " + hidden + "\n")
		} else {
			b.WriteString(hidden + "\n")
		}
	}
	return b.Bytes()
}
