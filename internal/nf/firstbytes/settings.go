package firstbytes

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/realmgate/realmgate/internal/nf"
	"github.com/realmgate/realmgate/internal/schema"
)

// Kind is the line of the list.
var Kind = nf.Kind{Word: "first-bytes", New: func(string) nf.Draft { return &draft{} }}

// Settings are the signatures of flows that it drops, and of those that it lets through alone unless Allow is empty.
type Settings struct{ Deny, Allow []Pattern }

// Pattern is a signature as the file gives it, 1 to 32 bytes, in one of two ways.
type Pattern struct {
	Text string // as it is
	Hex  string // two hexadecimal digits for each byte, or ?? for any
}

// Signature are its bytes.
func (s Pattern) Signature() (list Signature) {
	for _, b := range []byte(s.Text) {
		list = append(list, Byte{Value: b})
	}
	digits := compact(s.Hex)
	for i := 0; i+1 < len(digits); i += 2 {
		if digits[i:i+2] == "??" {
			list = append(list, Byte{Any: true})
			continue
		}
		value, _ := hex.DecodeString(digits[i : i+2]) // it was parsed
		list = append(list, Byte{Value: value[0]})
	}
	return list
}

// compact leaves spaces out.
func compact(digits string) string { return strings.ReplaceAll(digits, " ", "") }

func prefixText() schema.Kind[string] {
	return schema.Kind[string]{
		Name: "text", Allowed: fmt.Sprintf("1 to %d bytes", MostSignature), Tags: schema.TextTag,
		Want: fmt.Sprintf("a text of 1 to %d bytes, in quotes", MostSignature),
		Show: func(s string) string { return s },
		Parse: func(text string) (string, error) {
			if text == "" || len(text) > MostSignature {
				return "", schema.ErrNoHint
			}
			return text, nil
		},
	}
}

func prefixHex() schema.Kind[string] {
	return schema.Kind[string]{
		Name: "hex", Allowed: fmt.Sprintf("1 to %d bytes", MostSignature), Tags: schema.TextTag,
		Want: fmt.Sprintf("1 to %d bytes as \"16 03 ??\", in quotes", MostSignature),
		Show: func(s string) string { return s },
		Parse: func(text string) (string, error) {
			digits := compact(text)
			if digits == "" || len(digits)%2 != 0 || len(digits) > 2*MostSignature {
				return "", schema.ErrNoHint
			}
			for i := 0; i < len(digits); i += 2 {
				if digits[i:i+2] != "??" && (!schema.IsHex(digits[i]) || !schema.IsHex(digits[i+1])) {
					return "", schema.ErrNoHint
				}
			}
			if strings.HasSuffix(digits, "??") {
				return "", errors.New("the last byte is ??, which says nothing: leave it out")
			}
			return text, nil
		},
	}
}

// signatures is a key with a list of signatures; one that is only a text is a prefix.
func signatures(name string, target *[]Pattern) schema.Key {
	keys := func(s *Pattern) []schema.Key {
		return []schema.Key{
			schema.One("prefix", &s.Text, prefixText()).Otherwise("none"), schema.One("hex", &s.Hex, prefixHex()).Otherwise("none"),
		}
	}
	const want = "a list: each entry a text or a mapping"
	return schema.Key{
		Name: name, Kind: "list of sections", Standard: "none", Keys: keys(new(Pattern)), Item: prefixText().Form(),
		Read: func(faults *schema.Faults, node *yaml.Node, path string, _ int) {
			for i, item := range schema.Elements(faults, node, path, want, 1) {
				var s Pattern
				full := fmt.Sprintf("%s[%d]", path, i)
				if item.Kind == yaml.ScalarNode {
					s.Text, _ = schema.ReadValue(faults, item, full, prefixText())
				} else {
					schema.ReadSection(faults, item, full, item.Line, keys(&s))
					if s.Text != "" && s.Hex != "" {
						faults.Add(item.Line, "%s: prefix and hex are two ways to say it: give one", full)
					}
					if item.Kind == yaml.MappingNode && len(item.Content) == 0 {
						faults.Add(item.Line, "%s: give prefix or hex", full)
					}
				}
				*target = append(*target, s)
			}
		},
	}
}

type draft struct{ settings Settings }

// Keys implements nf.Draft.
func (d *draft) Keys() []schema.Key {
	return []schema.Key{signatures("deny_bytes", &d.settings.Deny), signatures("allow_bytes", &d.settings.Allow)}
}

// Finish implements nf.Draft.
func (d *draft) Finish(s *schema.Given) nf.Settings {
	n := len(d.settings.Deny) + len(d.settings.Allow)
	if n == 0 {
		s.Add(s.Line, "%s: give deny_bytes, allow_bytes or both", s.Path)
	}
	if n > MostSignatures {
		s.Add(s.Line, "%s: there are %d signatures, at most %d are allowed", s.Path, n, MostSignatures)
	}
	return d.settings
}

// GoesOn implements nf.Excuser.
func (Settings) GoesOn() string { return ": it judges the flow by its first bytes when these come" }

// Function implements nf.Settings.
func (s Settings) Function(string, nf.Names) nf.Function {
	return FirstBytes{Deny: signaturesOf(s.Deny), Allow: signaturesOf(s.Allow)}
}

func signaturesOf(list []Pattern) []Signature {
	made := make([]Signature, len(list))
	for i, p := range list {
		made[i] = p.Signature()
	}
	return made
}
