package cli

import (
	"encoding"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// known looks for keys of a TOML text that are no settings. The reader of TOML has a mode for that, which goes through the whole
// text, and copies it, for each of them; this one goes through it once.
type known struct {
	kinds  reflect.Type           // of the struct that the text is for
	passed func(name string) bool // tables and keys of the file itself that are somebody else's
	all    any                    // the settings of the whole file
}

// anything is what may hold whatever keys: values of another kind are found by who reads them.
var anything = reflect.TypeFor[any]()

// read reads a text into what it is for; a key that is no setting is an error before any value is looked at.
func (k known) read(path string, text []byte, into any) error {
	if err := k.check(path, text); err != nil {
		return err
	}
	if err := toml.Unmarshal(text, into); err != nil {
		return configError(path, text, err)
	}
	return nil
}

// check is an error about the first key that is no setting, with its place in the file.
func (k known) check(path string, text []byte) error {
	p := &unstable.Parser{}
	p.Reset(text)
	table, names := k.kinds, []string(nil)
	for p.NextExpression() {
		e := p.Expression()
		var wrong *unstable.Node
		var said []string
		if e.Kind == unstable.KeyValue {
			wrong, said = k.pair(table, names, e)
		} else if table, names, wrong = k.follow(k.kinds, nil, e.Key()); wrong != nil {
			said = names
		}
		if wrong != nil {
			at := p.Shape(wrong.Raw).Start
			return &settingError{fmt.Sprintf("%s:%d:%d", path, at.Line, at.Column), noSetting(said, k.kinds, k.all)}
		}
	}
	return nil
}

// pair looks at a key in a table, and at what is in its value; where there is one that is no setting it gives that and its name.
func (k known) pair(table reflect.Type, names []string, e *unstable.Node) (wrong *unstable.Node, said []string) {
	kind, names, wrong := k.follow(table, names, e.Key())
	if wrong != nil || kind == anything {
		return wrong, names
	}
	return k.within(kind, names, e.Value())
}

// within looks at the keys in a value.
func (k known) within(kind reflect.Type, names []string, v *unstable.Node) (wrong *unstable.Node, said []string) {
	if v.Kind != unstable.Array && v.Kind != unstable.InlineTable {
		return nil, nil
	}
	for list := v.Children(); list.Next() && wrong == nil; {
		if e := list.Node(); e.Kind == unstable.KeyValue {
			wrong, said = k.pair(kind, names, e)
		} else {
			wrong, said = k.within(kind, names, e)
		}
	}
	return wrong, said
}

// follow finds what a key in a table stands for, and its name from the file on; wrong is the part of it that stands for nothing.
func (k known) follow(table reflect.Type, names []string, key unstable.Iterator) (kind reflect.Type, named []string, wrong *unstable.Node) {
	var first *unstable.Node
	for named = slices.Clip(names); table != anything && key.Next(); {
		part := key.Node()
		if first == nil {
			first = part
		}
		named = append(named, string(part.Data))
		if len(named) == 1 && k.passed(named[0]) {
			return anything, named, nil
		}
		if table = member(table, named[len(named)-1]); table == nil {
			return nil, named, first
		}
	}
	return table, named, nil
}

// member is the kind of what a key names in a table of some kind; nil: it has no such key.
func member(table reflect.Type, key string) reflect.Type {
	table = one(table)
	switch {
	case reflect.PointerTo(table).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()):
		return anything
	case table.Kind() == reflect.Map:
		return table.Elem()
	case table.Kind() != reflect.Struct:
		return anything
	}
	for f := range table.Fields() {
		if name := settingName(f); name != "" && strings.EqualFold(name, key) {
			return f.Type
		}
	}
	return nil
}

// settingNames are those of the table, or of the tables of a list, at a path below a kind; none where there is none.
func settingNames(kind reflect.Type, path []string) (names []string) {
	for _, key := range path {
		if kind = member(kind, key); kind == nil {
			return nil
		}
	}
	if kind = one(kind); kind.Kind() != reflect.Struct {
		return nil
	}
	for f := range kind.Fields() {
		if name := settingName(f); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// one is the kind of what there may be several of.
func one(kind reflect.Type) reflect.Type {
	for kind.Kind() == reflect.Pointer || kind.Kind() == reflect.Slice {
		kind = kind.Elem()
	}
	return kind
}

// settingName is what a field is called in a text; "": it is no setting.
func settingName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("toml"), ",")
	return strings.TrimPrefix(name, "-")
}
