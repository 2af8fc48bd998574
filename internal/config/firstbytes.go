package config

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/realmgate/realmgate/internal/schema"
)

// FirstBytes drops flows by the first bytes that their opener sends: those that begin
// with a signature of Deny and, unless Allow is empty, with none of Allow.
type FirstBytes struct{ Deny, Allow []Signature }

// Signature is what a payload may begin with, 1 to 32 bytes, in one of two ways.
type Signature struct {
	Text string // as it is
	Hex  string // two hexadecimal digits for each byte, or ?? for any
}

// SignatureByte is one byte of a signature: that value, or any.
type SignatureByte struct {
	Value uint8
	Any   bool
}

const (
	mostSignature  = 32 // bytes, bpf/nf/first_bytes.bpf.c
	mostSignatures = 64
)

// Bytes are those of the signature.
func (s Signature) Bytes() (list []SignatureByte) {
	for _, b := range []byte(s.Text) {
		list = append(list, SignatureByte{Value: b})
	}
	digits := compact(s.Hex)
	for i := 0; i+1 < len(digits); i += 2 {
		if digits[i:i+2] == "??" {
			list = append(list, SignatureByte{Any: true})
			continue
		}
		value, _ := hex.DecodeString(digits[i : i+2]) // it was parsed
		list = append(list, SignatureByte{Value: value[0]})
	}
	return list
}

// compact leaves spaces out.
func compact(digits string) string { return strings.ReplaceAll(digits, " ", "") }

func prefixText() schema.Kind[string] {
	return schema.Kind[string]{
		Name: "text", Allowed: fmt.Sprintf("1 to %d bytes", mostSignature), Tags: schema.TextTag,
		Want: fmt.Sprintf("a text of 1 to %d bytes, in quotes", mostSignature),
		Show: func(s string) string { return s },
		Parse: func(text string) (string, error) {
			if text == "" || len(text) > mostSignature {
				return "", schema.ErrNoHint
			}
			return text, nil
		},
	}
}

func prefixHex() schema.Kind[string] {
	return schema.Kind[string]{
		Name: "hex", Allowed: fmt.Sprintf("1 to %d bytes", mostSignature), Tags: schema.TextTag,
		Want: fmt.Sprintf("1 to %d bytes as \"16 03 ??\", in quotes", mostSignature),
		Show: func(s string) string { return s },
		Parse: func(text string) (string, error) {
			digits := compact(text)
			if digits == "" || len(digits)%2 != 0 || len(digits) > 2*mostSignature {
				return "", schema.ErrNoHint
			}
			for i := 0; i < len(digits); i += 2 {
				if digits[i:i+2] != "??" && (!isHex(digits[i]) || !isHex(digits[i+1])) {
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
func signatures(name string, target *[]Signature) schema.Key {
	keys := func(s *Signature) []schema.Key {
		return []schema.Key{
			schema.One("prefix", &s.Text, prefixText()).Otherwise("none"), schema.One("hex", &s.Hex, prefixHex()).Otherwise("none"),
		}
	}
	const want = "a list: each entry a text or a mapping"
	return schema.Key{
		Name: name, Kind: "list of sections", Standard: "none", Keys: keys(new(Signature)),
		Read: func(faults *schema.Faults, node *yaml.Node, path string, _ int) {
			for i, item := range schema.Elements(faults, node, path, want, 1) {
				var s Signature
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

func (f *functionDraft) checkFirstBytes(faults *schema.Faults, path string) {
	b := f.function.FirstBytes
	n := len(b.Deny) + len(b.Allow)
	if n == 0 {
		faults.Add(f.line, "%s: give deny_bytes, allow_bytes or both", path)
	}
	if n > mostSignatures {
		faults.Add(f.line, "%s: there are %d signatures, at most %d are allowed", path, n, mostSignatures)
	}
}
