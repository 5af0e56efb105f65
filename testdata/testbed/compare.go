package testbed

import (
	"fmt"
	"io/fs"
	"reflect"
	"testing"
	"testing/fstest"
)

// Equal compares two values of any kind and shows where they begin to differ.
func Equal(t testing.TB, what string, got, want any) {
	t.Helper()
	if reflect.DeepEqual(got, want) {
		return
	}
	g, w := fmt.Sprintf("%#v", got), fmt.Sprintf("%#v", want)
	same := 0
	for same < min(len(g), len(w)) && g[same] == w[same] {
		same++
	}
	from := max(0, same-100)
	t.Errorf("%s:\n got %s\nwant %s", what, g[from:min(len(g), same+200)], w[from:min(len(w), same+200)])
}

// JobFiles is a file system for sandboxes: each of the names, below /job.
func JobFiles(names ...string) fs.FS {
	m := fstest.MapFS{}
	for _, n := range names {
		m["job/"+n] = &fstest.MapFile{Data: []byte("x")}
	}
	return m
}
