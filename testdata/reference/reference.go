// Package reference reads for tests the results and schedules that others have
// computed: whatever lies under reference/ of the directory that GRID_TESTDATA names.
package reference

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
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
	File string // without directory and .json
	ID   string // its own id, else its file and place

	raw  json.RawMessage
	keys map[string]json.RawMessage
}

// Objects returns those objects of the lists in all .json files that have
// every one of these keys.
func Objects(t testing.TB, keys ...string) (objects []Object) {
	t.Helper()
	for _, file := range Files(t, ".json") {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		more, err := List(filepath.Base(file), data, keys...)
		if err != nil {
			t.Fatal(err)
		}
		objects = append(objects, more...)
	}
	return objects
}

// List returns the objects of a list that have every one of these keys.
// Documents that are no list have none.
func List(name string, data []byte, keys ...string) (objects []Object, err error) {
	var list []json.RawMessage
	if err := json.Unmarshal(data, &list); err != nil {
		if !bytes.HasPrefix(bytes.TrimSpace(data), []byte("[")) {
			return nil, nil
		}
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	for i, raw := range list {
		o := Object{File: strings.TrimSuffix(name, ".json"), raw: raw}
		if json.Unmarshal(raw, &o.keys) != nil || !o.has(keys) {
			continue
		}
		_ = json.Unmarshal(o.keys["id"], &o.ID) // an id of another kind is none
		o.ID = cmp.Or(o.ID, fmt.Sprintf("%s, point %d", name, i+1))
		objects = append(objects, o)
	}
	return objects, nil
}

func (o *Object) has(keys []string) bool {
	for _, key := range keys {
		if o.keys[key] == nil {
			return false
		}
	}
	return true
}

// whole is a whole number that is written with a fraction of zero.
var whole = regexp.MustCompile(`\b(\d+)\.0+\b`)

// Decode reads the object into v; whole numbers may be written as 4.0.
func (o *Object) Decode(v any) error {
	return json.Unmarshal(whole.ReplaceAll(o.raw, []byte("$1")), v)
}
