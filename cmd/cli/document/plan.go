package document

import (
	"encoding"
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"time"
	"unicode"
)

var (
	durationType = reflect.TypeFor[time.Duration]()
	timeType     = reflect.TypeFor[time.Time]()
	numberType   = reflect.TypeFor[json.Number]()
	jsonType     = reflect.TypeFor[json.Marshaler]()
	textType     = reflect.TypeFor[encoding.TextMarshaler]()
)

// field is one field of an object.
type field struct {
	name   string // as written
	key    string // the same, quoted, with its colon
	goName string
	owner  reflect.Type // the struct that declares it
	index  []int
	typ    reflect.Type
	omit   bool // where it is zero, or empty
}

// fieldsOf lists the fields of a struct as they are written, those of embedded
// structs among them; of two of the same name the outer one counts.
func fieldsOf(t reflect.Type) []field {
	var out []field
	for _, f := range reflect.VisibleFields(t) {
		tag, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !f.IsExported() || tag == "-" || f.Anonymous && tag == "" || hidden(t, f.Index) {
			continue
		}
		name := tag
		if name == "" {
			name = f.Name
		}
		out = append(out, field{name: fullName(name, f.Tag.Get("unit"), f.Type), goName: f.Name, owner: ownerOf(t, f.Index), index: f.Index,
			typ: f.Type, omit: strings.Contains(options, "omit")})
	}
	return outermost(out)
}

// ownerOf is the struct type in which the field at an index is declared.
func ownerOf(t reflect.Type, index []int) reflect.Type {
	for _, i := range index[:len(index)-1] {
		if t = t.Field(i).Type; t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
	}
	return t
}

// hidden tells whether a field stands inside an embedded struct that is written as an object of its own, or not at all.
func hidden(t reflect.Type, index []int) bool {
	for _, i := range index[:len(index)-1] {
		f := t.Field(i)
		if f.Tag.Get("json") != "" {
			return true
		}
		if t = f.Type; t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
	}
	return false
}

// outermost leaves of the fields of one name the one that lies least deep.
func outermost(all []field) []field {
	depth := map[string]int{}
	for _, f := range all {
		if d, ok := depth[f.name]; !ok || len(f.index) < d {
			depth[f.name] = len(f.index)
		}
	}
	out := all[:0]
	for _, f := range all {
		if len(f.index) == depth[f.name] {
			f.key = strconv.Quote(f.name) + ":"
			out = append(out, f)
		}
	}
	return out
}

// fullName is a field's name with its unit.
func fullName(name, unit string, t reflect.Type) string {
	name = snake(name)
	if unit == "" && shown(plainest(t)) == durationType {
		unit = "seconds"
	}
	if unit != "" && name != unit && !strings.HasSuffix(name, "_"+unit) {
		name += "_" + unit
	}
	return name
}

// plainest is the type below pointers, lists and what stands in for a type.
func plainest(t reflect.Type) reflect.Type {
	for {
		if to := shown(t); to != t {
			t = to
		} else if k := t.Kind(); k == reflect.Pointer || k == reflect.Slice || k == reflect.Array {
			t = t.Elem()
		} else {
			return t
		}
	}
}

// shown is the type that stands in for a type in documents.
func shown(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Interface || t.Kind() == reflect.Pointer {
		return t
	}
	if m, ok := t.MethodByName("Document"); ok && m.Type.NumIn() == 1 && m.Type.NumOut() == 1 {
		return m.Type.Out(0)
	}
	return t
}

// snake writes freeSlots as free_slots, maxCPUTime as max_cpu_time, closeSEs as close_ses.
func snake(name string) string {
	in := []rune(name)
	var out strings.Builder
	for i, r := range in {
		if unicode.IsUpper(r) && i > 0 && in[i-1] != '_' {
			lone := i+1 < len(in) && unicode.IsLower(in[i+1]) && string(in[i+1:]) != "s"
			if !unicode.IsUpper(in[i-1]) || lone {
				out.WriteByte('_')
			}
		}
		if r == '.' || r == '-' || r == ' ' {
			r = '_'
		}
		out.WriteRune(unicode.ToLower(r))
	}
	return out.String()
}

// Fields are the fields of a type's objects as they are written: by name, what JSON's decoder makes of them: a
// float64, string, bool, []any or map[string]any; nil for a field that may be null or anything.
func Fields(t reflect.Type) map[string]any {
	out := map[string]any{}
	for _, f := range fieldsOf(t) {
		out[f.name] = sample(f.typ)
	}
	return out
}

// sample is an empty value of the kind that a type is read back as.
func sample(t reflect.Type) any {
	switch kindOf(t) {
	case asTime, byText:
		return ""
	case asSeconds, asNumber:
		return 0.0
	case byDocument, byJSON:
		return nil
	}
	switch t.Kind() {
	case reflect.String:
		return ""
	case reflect.Bool:
		return false
	case reflect.Slice, reflect.Array:
		return []any{}
	case reflect.Struct, reflect.Map:
		return map[string]any{}
	case reflect.Pointer, reflect.Interface:
		return nil
	}
	return 0.0
}
