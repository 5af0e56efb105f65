package scheduler

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"sync"
)

// A statement over the elements of a JSON array, {each} in its text, is one for PostgreSQL,
// as what costs is the way there and back. The embedded database is given a statement for
// each element, with the values themselves: reading them out of JSON costs it several times as much.

// phrasebook keeps how statements are said.
type phrasebook struct {
	mu    sync.Mutex
	texts map[string]string
	each  map[string]*perRow // by {each} statement; nil: it cannot be said so
}

// maxPhrases bounds what is kept: statements are constants of the program, nearly all.
const maxPhrases = 500

func newPhrasebook() *phrasebook {
	return &phrasebook{texts: map[string]string{}, each: map[string]*perRow{}}
}

// say puts a statement into the dialect's words.
func (d *dialect) say(query string) string {
	d.said.mu.Lock()
	defer d.said.mu.Unlock()
	text, known := d.said.texts[query]
	if !known {
		if text = d.words.Replace(query); len(d.said.texts) < maxPhrases {
			d.said.texts[query] = text
		}
	}
	return text
}

// perRow is a statement over a list, as it is said of one element.
type perRow struct {
	text  string
	of    reflect.Type
	parts []int // by parameter: the field of the element, -1 for all of it
}

var elementField = regexp.MustCompile(`t\.value(->>?'(\w+)')?`)

// perRow says a statement over a list with a number of further arguments of one element; nil: it cannot be.
func (d *dialect) perRow(query string, of reflect.Type, args int) *perRow {
	d.said.mu.Lock()
	defer d.said.mu.Unlock()
	r, known := d.said.each[query]
	if !known {
		if r = d.split(query, of, args); len(d.said.each) < maxPhrases {
			d.said.each[query] = r
		}
	}
	if r == nil || r.of != of {
		return nil
	}
	return r
}

func (d *dialect) split(query string, of reflect.Type, args int) *perRow {
	if !strings.Contains(query, "{each}") || of.Kind() != reflect.Struct {
		return nil
	}
	fields := map[string]int{"": -1}
	for i := range of.NumField() {
		name, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
		fields[name] = i
	}
	r, whole := &perRow{of: of}, true
	text := elementField.ReplaceAllStringFunc(strings.ReplaceAll(query, "from {each}", ""), func(ref string) string {
		field, there := fields[elementField.FindStringSubmatch(ref)[2]]
		whole = whole && there
		r.parts = append(r.parts, field)
		return fmt.Sprintf("$%d", 1+args+len(r.parts))
	})
	if !whole || strings.Contains(text, "->") { // deeper than a field
		return nil
	}
	r.text = d.words.Replace(text)
	return r
}

// write does the statement for each element of a list.
func (r *perRow) write(ctx context.Context, tx *sql.Tx, list reflect.Value, args []any) error {
	all := make([]any, 1, 1+len(args)+len(r.parts)) // the first is the list
	all = append(all, args...)
	for i := range list.Len() {
		row, err := r.values(all, list.Index(i))
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, r.text, row...); err != nil {
			return failed(r.text, err)
		}
	}
	return nil
}

// values are the arguments that stand for an element.
func (r *perRow) values(args []any, element reflect.Value) ([]any, error) {
	for _, i := range r.parts {
		v := element
		if i >= 0 {
			v = element.Field(i)
		}
		arg, err := plainValue(v)
		if err != nil {
			return nil, err
		}
		args = append(args, arg)
	}
	return args, nil
}

// plainValue is a value as the embedded database keeps it: what is more than a number
// or a text is its JSON.
func plainValue(v reflect.Value) (any, error) {
	switch v.Kind() {
	case reflect.String:
		return strings.ToValidUTF8(v.String(), "\ufffd"), nil
	case reflect.Int, reflect.Int32, reflect.Int64:
		return v.Int(), nil
	case reflect.Uint64:
		return int64(v.Uint()), nil
	case reflect.Float64:
		return v.Float(), nil
	}
	if text, raw := v.Interface().(json.RawMessage); raw {
		return string(text), nil
	}
	text, err := jsonText(v.Interface())
	return strings.TrimSuffix(text, "\n"), err
}
