package config

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/realmgate/realmgate/internal/schema"
)

// jsonSchema is a part of a JSON Schema, draft 2020-12.
type jsonSchema struct {
	Schema      string                 `json:"$schema,omitempty"`
	Title       string                 `json:"title,omitempty"`
	Description string                 `json:"description,omitempty"`
	Type        []string               `json:"type,omitempty"`
	Enum        []string               `json:"enum,omitempty"`
	Minimum     *float64               `json:"minimum,omitempty"`
	Maximum     *float64               `json:"maximum,omitempty"`
	Items       *jsonSchema            `json:"items,omitempty"`
	Properties  map[string]*jsonSchema `json:"properties,omitempty"`
	Required    []string               `json:"required,omitempty"`
	Dependent   map[string][]string    `json:"dependentRequired,omitempty"`
	AnyOf       []*jsonSchema          `json:"anyOf,omitempty"`
	AllOf       []*jsonSchema          `json:"allOf,omitempty"`
	If          *jsonSchema            `json:"if,omitempty"`
	Then        *jsonSchema            `json:"then,omitempty"`
	Not         *jsonSchema            `json:"not,omitempty"`

	// Unevaluated is false where a section has no other properties, those of its variant among them.
	Unevaluated *bool `json:"unevaluatedProperties,omitempty"`
}

// JSONSchema is the configuration's, for editors: it lets through every good configuration, and complains of most others.
func JSONSchema() ([]byte, error) {
	root := sectionSchema(schema.Keys(new(Config).drafts(nil)))
	root.Schema, root.Title = "https://json-schema.org/draft/2020-12/schema", "Realmgate configuration"
	root.Dependent = map[string][]string{} // checkSides
	for _, name := range gatewayKeys {
		root.Dependent[name] = gatewayKeys
	}
	text, err := json.MarshalIndent(root, "", "  ")
	return append(text, '\n'), err
}

// sectionSchema is that of a mapping with these keys.
func sectionSchema(keys []schema.Key) *jsonSchema {
	s := &jsonSchema{Type: []string{"object"}, Properties: map[string]*jsonSchema{}, Unevaluated: new(bool)}
	for _, k := range keys {
		switch {
		case k.Foreign:
		case k.Variant:
			s.AllOf = append(s.AllOf, variant(keys[0], k))
		default:
			s.Properties[k.Name] = keySchema(k)
			if k.Required {
				s.Required = append(s.Required, k.Name)
			}
		}
	}
	return s
}

// variant is the keys that a section has where its first key says so. A word that is none of the first key's stands for all others.
func variant(first, k schema.Key) *jsonSchema {
	is := &jsonSchema{Enum: []string{k.Name}}
	if !slices.Contains(first.Value.Words, k.Name) {
		is = &jsonSchema{Not: &jsonSchema{Enum: first.Value.Words}}
	}
	then := sectionSchema(k.Keys)
	then.Type, then.Unevaluated = nil, nil // the section says it
	return &jsonSchema{If: &jsonSchema{Properties: map[string]*jsonSchema{first.Name: is}, Required: []string{first.Name}}, Then: then}
}

// keySchema is that of a key's value: one of the shapes that it may have.
func keySchema(k schema.Key) *jsonSchema {
	var shapes, items []*jsonSchema
	if k.Value != nil {
		shapes = append(shapes, formSchema(*k.Value))
	}
	if len(k.Keys) > 0 {
		section := sectionSchema(k.Keys)
		if strings.HasPrefix(k.Kind, "section") {
			shapes = append(shapes, section)
		}
		if strings.Contains(k.Kind, "list of") {
			items = append(items, section)
		}
	}
	if k.Item != nil {
		items = append(items, formSchema(*k.Item))
	}
	if len(items) > 0 {
		shapes = append(shapes, &jsonSchema{Type: []string{"array"}, Items: oneOf(items)})
	}
	s := oneOf(shapes)
	s.Description = describe(k)
	return s
}

func oneOf(shapes []*jsonSchema) *jsonSchema {
	if len(shapes) == 1 {
		return shapes[0]
	}
	return &jsonSchema{AnyOf: shapes}
}

// describe says what the reference does of a key, but for its meaning.
func describe(k schema.Key) string {
	said := []string{k.Kind}
	if k.Allowed != "" {
		said = append(said, k.Allowed)
	}
	if k.Standard != "" {
		said = append(said, "default "+k.Standard)
	}
	return strings.Join(said, "; ")
}

var jsonTypes = map[string]string{"!!str": "string", "!!int": "integer", "!!float": "number", "!!bool": "boolean"}

// formSchema is that of a scalar.
func formSchema(f schema.Form) *jsonSchema {
	s := &jsonSchema{}
	for _, tag := range f.Tags {
		s.Type = append(s.Type, jsonTypes[tag])
	}
	if f.Bounds != nil {
		s.Minimum, s.Maximum = &f.Bounds.Least, &f.Bounds.Most
	}
	switch {
	case f.Words == nil:
	case f.Open:
		s = &jsonSchema{AnyOf: []*jsonSchema{{Enum: f.Words}, s}}
	default:
		s.Enum = f.Words
	}
	return s
}
