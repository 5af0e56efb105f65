package document

import (
	"bytes"
	"cmp"
	"encoding"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"time"
)

// Append writes a value behind b. Numbers that JSON cannot say are null.
func Append(b []byte, v any) ([]byte, error) {
	e := &encoder{b: b, plans: map[reflect.Type][]field{}, kinds: map[reflect.Type]kind{}}
	e.text = json.NewEncoder(&e.buf)
	e.text.SetEscapeHTML(false) // ">=" stays readable
	err := e.value(reflect.ValueOf(v))
	return e.b, err
}

// encoder writes one document.
type encoder struct {
	b     []byte
	buf   bytes.Buffer
	text  *json.Encoder
	plans map[reflect.Type][]field
	kinds map[reflect.Type]kind
}

// kind is how the values of a type are written.
type kind int

const (
	byGo kind = iota // by their Go kind
	byDocument
	byJSON
	byText
	asSeconds
	asTime
	asNumber // a number as it was written
)

func kindOf(t reflect.Type) kind {
	switch {
	case t == durationType:
		return asSeconds
	case t == timeType:
		return asTime
	case t == numberType:
		return asNumber
	case shown(t) != t:
		return byDocument
	case t.Kind() == reflect.Interface:
		return byGo
	case t.Implements(jsonType) && t.Kind() != reflect.Pointer:
		return byJSON
	case t.Implements(textType) && t.Kind() != reflect.Pointer:
		return byText
	}
	return byGo
}

func (e *encoder) kind(t reflect.Type) kind {
	k, ok := e.kinds[t]
	if !ok {
		k = kindOf(t)
		e.kinds[t] = k
	}
	return k
}

func (e *encoder) value(v reflect.Value) error {
	if !v.IsValid() {
		e.b = append(e.b, "null"...)
		return nil
	}
	switch e.kind(v.Type()) {
	case byDocument:
		return e.value(v.MethodByName("Document").Call(nil)[0])
	case byJSON, asNumber:
		return e.foreign(v.Interface())
	case byText:
		text, err := v.Interface().(encoding.TextMarshaler).MarshalText()
		if err != nil {
			return err
		}
		return e.foreign(string(text))
	case asSeconds:
		e.number(v.Interface().(time.Duration).Seconds(), 64)
		return nil
	case asTime:
		e.b = v.Interface().(time.Time).UTC().AppendFormat(append(e.b, '"'), time.RFC3339Nano)
		e.b = append(e.b, '"')
		return nil
	}
	return e.plain(v)
}

// plain writes a value by its Go kind.
func (e *encoder) plain(v reflect.Value) error {
	switch v.Kind() {
	case reflect.Bool:
		e.b = strconv.AppendBool(e.b, v.Bool())
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		e.b = strconv.AppendInt(e.b, v.Int(), 10)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		e.b = strconv.AppendUint(e.b, v.Uint(), 10)
	case reflect.Float32, reflect.Float64:
		e.number(v.Float(), v.Type().Bits())
	case reflect.String:
		return e.foreign(v.String())
	case reflect.Pointer, reflect.Interface:
		return e.value(v.Elem())
	case reflect.Struct:
		return e.object(v)
	case reflect.Map:
		return e.table(v)
	case reflect.Slice, reflect.Array:
		return e.list(v)
	default:
		return fmt.Errorf("document: a %s has no form in JSON", v.Type())
	}
	return nil
}

func (e *encoder) number(f float64, bits int) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		e.b = append(e.b, "null"...)
		return
	}
	form := byte('f')
	if a := math.Abs(f); a != 0 && (a < 1e-6 || a >= 1e21) {
		form = 'e'
	}
	e.b = strconv.AppendFloat(e.b, f, form, -1, bits)
}

// foreign writes what encoding/json makes of a value.
func (e *encoder) foreign(v any) error {
	e.buf.Reset()
	if err := e.text.Encode(v); err != nil {
		return err
	}
	e.b = append(e.b, bytes.TrimSuffix(e.buf.Bytes(), []byte("\n"))...)
	return nil
}

func (e *encoder) object(v reflect.Value) error {
	plan, ok := e.plans[v.Type()]
	if !ok {
		plan = fieldsOf(v.Type())
		e.plans[v.Type()] = plan
	}
	e.b = append(e.b, '{')
	first := true
	for i := range plan {
		f := &plan[i]
		x, err := v.FieldByIndexErr(f.index)
		if err != nil || f.omit && empty(x) || e.absent(x) {
			continue
		}
		if !first {
			e.b = append(e.b, ',')
		}
		first = false
		e.b = append(e.b, f.key...)
		if err := e.value(x); err != nil {
			return err
		}
	}
	e.b = append(e.b, '}')
	return nil
}

// empty tells whether a value is left out where its field may be.
func empty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Slice, reflect.Map:
		return v.Len() == 0
	}
	return v.IsZero()
}

// absent tells whether there is nothing to write: a time that is not known, or a stand-in that is nil.
func (e *encoder) absent(v reflect.Value) bool {
	switch e.kind(v.Type()) {
	case asTime:
		return v.Interface().(time.Time).IsZero()
	case byDocument:
		x := v.MethodByName("Document").Call(nil)[0]
		return x.Kind() == reflect.Pointer && x.IsNil()
	}
	return v.Kind() == reflect.Pointer && !v.IsNil() && v.Type().Elem() == timeType && v.Elem().Interface().(time.Time).IsZero()
}

func (e *encoder) list(v reflect.Value) error {
	e.b = append(e.b, '[')
	for i := range v.Len() {
		if i > 0 {
			e.b = append(e.b, ',')
		}
		if err := e.value(v.Index(i)); err != nil {
			return err
		}
	}
	e.b = append(e.b, ']')
	return nil
}

// table writes a map, its keys in order and as they are: they are data, not names of ours.
func (e *encoder) table(v reflect.Value) error {
	keys := v.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int { return cmp.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	e.b = append(e.b, '{')
	for i, key := range keys {
		if i > 0 {
			e.b = append(e.b, ',')
		}
		if err := e.foreign(fmt.Sprint(key)); err != nil {
			return err
		}
		e.b = append(e.b, ':')
		if err := e.value(v.MapIndex(key)); err != nil {
			return err
		}
	}
	e.b = append(e.b, '}')
	return nil
}
