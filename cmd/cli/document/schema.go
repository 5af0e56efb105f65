package document

import (
	"encoding/json"
	"reflect"
	"strings"
)

// Schema is a JSON Schema, draft 2020-12, of one type.
type Schema struct {
	Schema      string             `json:"$schema,omitempty"`
	ID          string             `json:"$id,omitempty"`
	Title       string             `json:"title,omitempty"`
	Ref         string             `json:"$ref,omitempty"`
	Description string             `json:"description,omitempty"`
	Const       string             `json:"const,omitempty"`
	Type        any                `json:"type,omitempty"` // a name, or several
	Format      string             `json:"format,omitempty"`
	Properties  map[string]*Schema `json:"properties,omitempty"`
	Required    []string           `json:"required,omitempty"`
	Additional  *Schema            `json:"additionalProperties,omitempty"` // of all values
	Items       *Schema            `json:"items,omitempty"`
	AnyOf       []*Schema          `json:"anyOf,omitempty"`
	Defs        map[string]*Schema `json:"$defs,omitempty"`
}

// Comments tells what is said of a field of a type where it is declared; "" where nothing is known.
type Comments func(t reflect.Type, field string) string

// SchemaOf is the schema of a document whose field "schema" has the given name and whose other fields are those of a type.
func SchemaOf(name string, t reflect.Type, said Comments) *Schema {
	g := &generator{said: said, defs: map[string]*Schema{}, names: map[reflect.Type]string{}}
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	doc := g.object(t)
	doc.Schema, doc.ID, doc.Title = "https://json-schema.org/draft/2020-12/schema", name, name
	doc.Properties["schema"] = &Schema{Const: name}
	doc.Required = append([]string{"schema"}, doc.Required...)
	doc.Defs = g.defs
	return doc
}

// generator collects the schemas of the types that a document is made of.
type generator struct {
	said  Comments
	defs  map[string]*Schema
	names map[reflect.Type]string
}

func (g *generator) of(t reflect.Type) *Schema {
	switch kindOf(t) {
	case byDocument:
		return g.of(shown(t))
	case byJSON:
		return &Schema{}
	case byText:
		return &Schema{Type: "string"}
	case asSeconds, asNumber:
		return &Schema{Type: "number"}
	case asTime:
		return &Schema{Type: "string", Format: "date-time"}
	}
	switch t.Kind() {
	case reflect.Bool:
		return &Schema{Type: "boolean"}
	case reflect.Float32, reflect.Float64:
		return &Schema{Type: []string{"number", "null"}}
	case reflect.String:
		return &Schema{Type: "string"}
	case reflect.Pointer:
		return g.of(t.Elem())
	case reflect.Interface:
		return &Schema{}
	case reflect.Slice, reflect.Array:
		return &Schema{Type: "array", Items: g.nullable(t.Elem())}
	case reflect.Map:
		return &Schema{Type: "object", Additional: g.nullable(t.Elem())}
	case reflect.Struct:
		return g.named(t)
	}
	return &Schema{Type: "integer"}
}

// nullable is of, where a pointer may be null.
func (g *generator) nullable(t reflect.Type) *Schema {
	s := g.of(t)
	if t.Kind() == reflect.Pointer && (s.Ref != "" || s.Type != nil) {
		return &Schema{AnyOf: []*Schema{s, {Type: "null"}}}
	}
	return s
}

// named puts the schema of a struct among the definitions and refers to it.
func (g *generator) named(t reflect.Type) *Schema {
	name, ok := g.names[t]
	if !ok {
		name = g.free(t)
		g.names[t] = name
		g.defs[name] = &Schema{} // a type may hold itself
		*g.defs[name] = *g.object(t)
	}
	return &Schema{Ref: "#/$defs/" + name}
}

// free is a name for a type that no other has.
func (g *generator) free(t reflect.Type) string {
	name := snake(t.Name())
	if i := strings.IndexByte(name, '['); i >= 0 {
		name = name[:i]
	}
	if name == "" {
		name = "object"
	}
	for _, taken := g.defs[name]; taken; _, taken = g.defs[name] {
		name += "_"
	}
	return name
}

func (g *generator) object(t reflect.Type) *Schema {
	s := &Schema{Type: "object", Properties: map[string]*Schema{}}
	for _, f := range fieldsOf(t) {
		p := g.of(f.typ)
		always := !f.omit && kindOf(f.typ) != asTime && kindOf(f.typ) != byDocument
		if f.typ.Kind() == reflect.Pointer && always {
			p = g.nullable(f.typ)
			always = f.typ.Elem() != timeType
		}
		if g.said != nil {
			if text := g.said(f.owner, f.goName); text != "" && p.Ref == "" {
				p.Description = text
			}
		}
		s.Properties[f.name] = p
		if always {
			s.Required = append(s.Required, f.name)
		}
	}
	return s
}

// Text writes the schema for people: indented.
func (s *Schema) Text() ([]byte, error) {
	text, err := json.MarshalIndent(s, "", "  ")
	return append(text, '\n'), err
}
