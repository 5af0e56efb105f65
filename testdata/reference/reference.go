// Package reference reads for tests the results and schedules that others have
// computed: whatever lies under reference/ of the directory that GRID_TESTDATA names.
package reference

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// Files returns the files whose names end in suffix, in the order of their
// names. The test is skipped where there is no such directory.
func Files(t testing.TB, suffix string) (files []string) {
	t.Helper()
	data := os.Getenv("GRID_TESTDATA")
	err := filepath.WalkDir(filepath.Join(data, "reference"), func(file string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.HasSuffix(file, suffix) {
			files = append(files, file)
		}
		return err
	})
	if data == "" || errors.Is(err, fs.ErrNotExist) {
		t.Skip("GRID_TESTDATA names no directory with reference/")
	} else if err != nil {
		t.Fatal(err)
	}
	return files
}

// Object is one object of a list in a file of results.
type Object struct {
	File  string // without directory and .json
	ID    string // its own id, else its file and place
	Lacks string // a key that is wanted and that it does not have

	raw  json.RawMessage
	keys map[string]json.RawMessage
}

// Objects returns those objects of the lists in all .json files that have
// every one of these keys. A file that cannot be read fails the test and hides no
// other; what is left out though it has some of the keys is said.
func Objects(t testing.TB, keys ...string) (objects []Object) {
	t.Helper()
	for _, file := range Files(t, ".json") {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Error(err)
			continue
		}
		more, err := List(filepath.Base(file), data, keys...)
		if errors.Is(err, errNoList) {
			fmt.Println(err)
		} else if err != nil {
			t.Error(err)
		}
		for _, o := range more {
			if o.Lacks != "" {
				fmt.Printf("%s has no %s: it is compared with nothing\n", o.ID, o.Lacks)
				continue
			}
			objects = append(objects, o)
		}
	}
	return objects
}

// errNoList is a document that is something else.
var errNoList = errors.New("no list of results: nothing of it is compared")

// mark is the byte order mark, which editors of Windows put before a text.
var mark = []byte("\uFEFF")

// List returns the objects of a list that have some of these keys, and which they lack.
func List(name string, data []byte, keys ...string) (objects []Object, err error) {
	list, err := values(plain(bytes.TrimPrefix(data, mark)))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	for i, raw := range list {
		o := Object{File: strings.TrimSuffix(name, ".json"), raw: raw}
		if json.Unmarshal(raw, &o.keys) != nil || !o.has(keys) {
			continue // of another kind
		}
		_ = json.Unmarshal(o.keys["id"], &o.ID) // an id of another kind is none
		o.ID = cmp.Or(o.ID, fmt.Sprintf("%s, point %d", name, i+1))
		objects = append(objects, o)
	}
	return objects, nil
}

// has tells whether the object has any of the keys, and takes down one that it lacks.
func (o *Object) has(keys []string) (any bool) {
	for _, key := range keys {
		if o.keys[key] == nil {
			o.Lacks = key
		} else {
			any = true
		}
	}
	return any
}

// values are those of a list, or of several objects one after the other.
func values(data []byte) (list []json.RawMessage, err error) {
	if bytes.HasPrefix(bytes.TrimSpace(data), []byte("[")) {
		return list, json.Unmarshal(data, &list)
	}
	for dec := json.NewDecoder(bytes.NewReader(data)); ; {
		var one json.RawMessage
		if err := dec.Decode(&one); errors.Is(err, io.EOF) && len(list) > 1 {
			return list, nil
		} else if err != nil {
			return nil, errNoList
		}
		list = append(list, one)
	}
}

// token is a text of JSON, a number, or what Python writes for numbers that JSON has none for.
var token = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*|NaN|-?Infinity`)

// plain writes whole numbers as such, which may be written as 4.0 or 1e4, and null for what is no number.
func plain(data []byte) []byte {
	return token.ReplaceAllFunc(data, func(t []byte) []byte {
		switch t[len(t)-1] {
		case '"':
			return t
		case 'N', 'y':
			return []byte("null")
		}
		x, err := strconv.ParseFloat(string(t), 64)
		if err != nil || x != math.Trunc(x) || math.Abs(x) > 1<<53 {
			return t
		}
		return strconv.AppendFloat(nil, x, 'f', -1, 64)
	})
}

// Open opens a file of such a directory as a text: a byte order mark before it is skipped.
func Open(file string) (io.Reader, error) {
	data, err := os.ReadFile(file)
	return bytes.NewReader(bytes.TrimPrefix(data, mark)), err
}

// Decode reads the object into v.
func (o *Object) Decode(v any) error { return json.Unmarshal(o.raw, v) }
