package jobs

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the shape of records anew, where a migration allows it")

// TestNewFieldsHaveAMigration: a record looks as it did when the last migration came.
// So a program that would drop a field by writing a record back is told that a newer
// one is at work (TestNewerVersionMeanwhile).
func TestNewFieldsHaveAMigration(t *testing.T) {
	const file = "testdata/record.txt"
	version, fields := fmt.Sprintf("user_version %d", len(migrations)), strings.Join(shape("", reflect.TypeFor[Record](), nil), "")
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	before, err := os.ReadFile(file)
	if err != nil && !*update {
		t.Fatal(err)
	}
	was, old, _ := strings.Cut(string(before), "\n")
	switch changed := old != fields; {
	case changed && was == version:
		t.Errorf("records have other fields, and there is no migration for them:\n%s", fields)
	case (changed || was != version) && *update:
		if err := os.WriteFile(file, []byte(version+"\n"+fields), 0o644); err != nil {
			t.Fatal(err)
		}
	case changed || was != version:
		t.Errorf("%s is of %s: go test ./jobs -run %s -update", file, was, t.Name())
	}
}

// shape lists what JSON a type is written as, a line a field.
func shape(path string, t reflect.Type, within []reflect.Type) (lines []string) {
	for _, outer := range within {
		if outer == t {
			return []string{path + " " + t.String() + "\n"}
		}
	}
	switch {
	case t.Kind() == reflect.Pointer, t.Kind() == reflect.Slice, t.Kind() == reflect.Map:
		return shape(path+"[]", t.Elem(), within)
	case t.Kind() != reflect.Struct, t.PkgPath() == "time":
		return []string{path + " " + t.Kind().String() + "\n"}
	}
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" || !f.IsExported() {
			continue
		}
		if name == "" && !f.Anonymous {
			name = f.Name
		}
		lines = append(lines, shape(path+"."+name, f.Type, append(within, t))...)
	}
	return lines
}
