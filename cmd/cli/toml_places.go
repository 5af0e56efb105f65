package cli

import (
	"bytes"
	"fmt"
	"strconv"

	"github.com/pelletier/go-toml/v2/unstable"

	"gridbroker/foreign"
)

// tomlPlaces tells where the keys of a TOML text stand, as "LINE:COLUMN". A key is named by
// its path, tables of a list by their number from 0: "cycle", "login.url", "cluster.1",
// "cluster.1.name".
type tomlPlaces map[string]string

// How many tables and keys a configuration may have, a user's and a scheduler's: the time that it takes to read it goes by them.
const (
	mostOfUser      = 5_000
	mostOfScheduler = 20_000 // it lists clusters
)

// signsOfSetting is how many signs of TOML a table or a setting may have on the average, comments included.
const signsOfSetting = 20

// tooMany is an error about a text of more settings than one configuration has.
func tooMany(path string, text []byte, most int) error {
	many := &settingError{path, fmt.Sprintf("more than %d tables and settings: this is hardly the right file", most)}
	if foreign.SignsOfTOML(text) > most*signsOfSetting {
		return many
	}
	p := &unstable.Parser{}
	p.Reset(text)
	for n := 0; p.NextExpression(); n++ {
		if n == most {
			return many
		}
	}
	return nil
}

// readPlaces finds the places of a text that has been read as TOML already; what it cannot
// read has none.
func readPlaces(text []byte) tomlPlaces {
	places, lists, table := tomlPlaces{}, map[string]int{}, ""
	at := lines{text: text, line: 1}
	p := &unstable.Parser{}
	p.Reset(text)
	for p.NextExpression() {
		switch e := p.Expression(); e.Kind {
		case unstable.Table:
			table = keyPath("", e)
			places.note(&at, table, e)
		case unstable.ArrayTable:
			list := keyPath("", e)
			table = list + "." + strconv.Itoa(lists[list])
			lists[list]++
			places.note(&at, table, e)
		case unstable.KeyValue:
			places.note(&at, keyPath(table, e), e)
		}
	}
	return places
}

// keyPath is the path of a key in a table.
func keyPath(table string, e *unstable.Node) string {
	for key := e.Key(); key.Next(); {
		if table != "" {
			table += "."
		}
		table += string(key.Node().Data)
	}
	return table
}

// note keeps where a key begins: the first, where it is there twice.
func (t tomlPlaces) note(at *lines, path string, e *unstable.Node) {
	key := e.Key()
	if !key.Next() || t[path] != "" {
		return
	}
	t[path] = at.place(int(key.Node().Raw.Offset))
}

// lines counts lines up to places of a text that come one after the other: each is a step from the one before, not from
// the beginning.
type lines struct {
	text        []byte
	line        int // in which the last place was
	from, begun int // where that was, and where its line begins
}

// place is a place that is not before the last one, as "LINE:COLUMN".
func (l *lines) place(offset int) string {
	step := l.text[l.from:offset]
	if last := bytes.LastIndexByte(step, '\n'); last >= 0 {
		l.line += bytes.Count(step, []byte("\n"))
		l.begun = l.from + last + 1
	}
	l.from = offset
	return fmt.Sprintf("%d:%d", l.line, offset-l.begun+1)
}

// numberPlace is where the first key stands whose value is this number: ":LINE:COLUMN", or "".
func numberPlace(text []byte, number string) string {
	p := &unstable.Parser{}
	p.Reset(text)
	for p.NextExpression() {
		if e := p.Expression(); e.Kind == unstable.KeyValue && string(e.Value().Data) == number {
			t := tomlPlaces{}
			t.note(&lines{text: text, line: 1}, "", e)
			return ":" + t[""]
		}
	}
	return ""
}

// fault is what is wrong with a setting.
type fault struct{ key, said string }

func (f *fault) Error() string { return f.said }

// faulty is a mistake in the setting of that path.
func faulty(key, format string, args ...any) error {
	return &fault{key, fmt.Sprintf(format, args...)}
}

// of is the file, line and column of a setting: of its key, else of the table in which it
// is missing, else the file alone.
func (t tomlPlaces) of(file, key string) string {
	for ; key != ""; key = parentPath(key) {
		if where := t[key]; where != "" {
			return file + ":" + where
		}
	}
	return file
}

// parentPath is the path of the table that holds a key; "" is the file.
func parentPath(path string) string {
	for i := len(path) - 1; i >= 0; i-- {
		if path[i] == '.' {
			return path[:i]
		}
	}
	return ""
}
