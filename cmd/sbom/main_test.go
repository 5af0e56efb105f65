package main

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"
)

// The bill of this very test names the library it was built with.
func TestWrite(t *testing.T) {
	var out bytes.Buffer
	if err := write(&out, os.Args[0]); err != nil {
		t.Fatal(err)
	}
	var b bill
	if err := json.Unmarshal(out.Bytes(), &b); err != nil || b.Format != "CycloneDX" || b.Metadata.Component.Name != "gridbroker" || len(b.Components) == 0 || b.Components[0].Name != "std" {
		t.Errorf("%v: %s", err, out.Bytes())
	}
	if err := write(&out, "main_test.go"); err == nil {
		t.Error("a source file has a bill")
	}
}
