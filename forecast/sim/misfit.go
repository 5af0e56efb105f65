package sim

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2/unstable"

	"gridbroker/jdl/classad"
)

// misfit finds the first key of a scenario that is none, or whose value is of another
// kind than it takes: told by the names of the file. What is no TOML at all is left for
// who reads it.
func misfit(file string, text []byte) error {
	p := &unstable.Parser{}
	p.Reset(text)
	table, prefix := reflect.TypeFor[Scenario](), ""
	for p.NextExpression() {
		e := p.Expression()
		var m *mismatch
		switch e.Kind {
		case unstable.Table, unstable.ArrayTable:
			table, prefix, m = lookUp(reflect.TypeFor[Scenario](), "", e.Key())
			if prefix += "."; m == nil && e.Kind == unstable.ArrayTable && table.Kind() != reflect.Slice {
				m = &mismatch{prefix[:len(prefix)-1], "want " + wanted(table) + ", found one of several tables", keyOf(e)}
			}
			if m == nil && table.Kind() == reflect.Slice {
				table = table.Elem()
			}
			if m == nil && (table.Kind() != reflect.Struct || table == reflect.TypeFor[Duration]()) {
				m = &mismatch{prefix[:len(prefix)-1], "want " + wanted(table) + ", found a table", keyOf(e)}
			}
		case unstable.KeyValue:
			m = judge{p}.pair(table, prefix, e)
		}
		if m != nil {
			at := p.Shape(m.at).Start
			return &PositionError{file, at.Line, at.Column, fmt.Errorf("%s: %s", m.path, m.said)}
		}
	}
	return nil
}

// mismatch is what is wrong with a key, and where that stands.
type mismatch struct {
	path, said string
	at         unstable.Range
}

// keyOf is where a key begins.
func keyOf(e *unstable.Node) unstable.Range {
	k := e.Key()
	k.Next()
	return k.Node().Raw
}

// lookUp finds what a key stands for in a table.
func lookUp(table reflect.Type, prefix string, key unstable.Iterator) (reflect.Type, string, *mismatch) {
	path := strings.TrimSuffix(prefix, ".")
	for key.Next() {
		name := string(key.Node().Data)
		if table.Kind() == reflect.Slice {
			table = table.Elem()
		}
		if table.Kind() != reflect.Struct || table == reflect.TypeFor[Duration]() {
			return nil, "", &mismatch{path, "want " + wanted(table) + ", found a table", key.Node().Raw}
		}
		if path != "" {
			path += "."
		}
		path += name
		var names []string
		var found reflect.Type
		for i := range table.NumField() {
			if tag := table.Field(i).Tag.Get("toml"); tag != "" {
				if names = append(names, tag); tag == name {
					found = table.Field(i).Type
				}
			}
		}
		if found == nil {
			said := "no such key"
			if near := classad.DidYouMean(name, names); near != "" {
				said += "; " + near
			} else {
				said += "; there are " + strings.Join(names, ", ")
			}
			return nil, "", &mismatch{path, said, key.Node().Raw}
		}
		table = found
	}
	return table, path, nil
}

// judge holds values against what their keys take.
type judge struct{ *unstable.Parser }

// pair judges a key and its value.
func (p judge) pair(table reflect.Type, prefix string, e *unstable.Node) *mismatch {
	want, path, m := lookUp(table, prefix, e.Key())
	if m != nil {
		return m
	}
	v := e.Value()
	if usual := usually[path[strings.LastIndexByte(path, '.')+1:]]; usual != "" && isNone(v) {
		return &mismatch{path, string(v.Data) + ": want more; where it is left out it is " + usual, p.place(v, keyOf(e))}
	}
	return p.value(want, path, v, keyOf(e))
}

// usually is what stands for a number or a time that is left out and cannot be 0; who writes 0 means something else.
var usually = map[string]string{"users": "10", "estimate": "1", "speed": "1", "home": "1", "copies": "1", "follow": "5m", "cycle": "1m", "replan": "30m"}

// isNone tells whether a value is the number 0, or no time.
func isNone(v *unstable.Node) bool {
	switch v.Kind {
	case unstable.Integer, unstable.Float:
		x, err := strconv.ParseFloat(string(v.Data), 64)
		return err == nil && x == 0
	case unstable.String:
		d, err := time.ParseDuration(string(v.Data))
		return err == nil && d == 0
	}
	return false
}

// place is where a value stands; of one that does not say, its key.
func (p judge) place(v *unstable.Node, key unstable.Range) unstable.Range {
	switch v.Kind {
	case unstable.Integer, unstable.Float, unstable.Bool:
		return p.Range(v.Data)
	}
	if v.Raw.Length > 0 {
		return v.Raw
	}
	return key
}

// value judges a value, which stands behind a key.
func (p judge) value(want reflect.Type, path string, v *unstable.Node, key unstable.Range) *mismatch {
	fits := false
	switch want.Kind() {
	case reflect.String:
		fits = v.Kind == unstable.String
	case reflect.Int:
		fits = v.Kind == unstable.Integer
	case reflect.Float64:
		fits = v.Kind == unstable.Integer || v.Kind == unstable.Float
	case reflect.Bool:
		fits = v.Kind == unstable.Bool
	case reflect.Slice:
		fits = v.Kind == unstable.Array
	case reflect.Struct:
		fits = v.Kind == unstable.InlineTable
		if want == reflect.TypeFor[Duration]() {
			fits = v.Kind == unstable.String
		}
	}
	if !fits {
		return &mismatch{path, fmt.Sprintf("want %s, found %s", wanted(want), found(v)), p.place(v, key)}
	}
	if v.Kind != unstable.Array && v.Kind != unstable.InlineTable {
		return nil
	}
	for n, list := 1, v.Children(); list.Next(); n++ {
		m := (*mismatch)(nil)
		if e := list.Node(); e.Kind == unstable.KeyValue {
			m = p.pair(want, path+".", e)
		} else if v.Kind == unstable.Array && e.Kind != unstable.Comment {
			m = p.value(want.Elem(), fmt.Sprint(path, ".", n), e, key)
		}
		if m != nil {
			return m
		}
	}
	return nil
}

// wanted is what a value of a type is called.
func wanted(t reflect.Type) string {
	if t == reflect.TypeFor[Duration]() {
		return `a time such as "90s"`
	}
	switch t.Kind() {
	case reflect.String:
		return "a text in quotes"
	case reflect.Int:
		return "a whole number"
	case reflect.Float64:
		return "a number"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Struct {
			return "tables ([[...]])"
		}
		return "a list of texts"
	}
	return "a table"
}

// longestFound bounds how much of a wrong value is shown, in bytes.
const longestFound = 40

// found is what there is.
func found(v *unstable.Node) string {
	text := string(v.Data[:min(len(v.Data), longestFound)])
	if len(v.Data) > longestFound {
		text += "..."
	}
	switch v.Kind {
	case unstable.String:
		return fmt.Sprintf("the text %q", text)
	case unstable.Array:
		return "a list"
	case unstable.InlineTable:
		return "a table"
	case unstable.LocalDate, unstable.LocalTime, unstable.LocalDateTime, unstable.DateTime:
		return "the date or time " + text
	}
	return text
}
