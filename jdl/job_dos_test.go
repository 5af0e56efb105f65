package jdl

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
)

// TestDOSLineBreaks: a program whose interpreter's name ends in a carriage return is told of before it fails at a site.
func TestDOSLineBreaks(t *testing.T) {
	root := fstest.MapFS{"d/dos.sh": {Data: []byte("#!/bin/sh\r\necho\r\n")}, "d/unix.sh": {Data: []byte("#!/bin/sh\necho\r\n")}, "d/mark.sh": {Data: []byte("\ufeff#!/bin/sh\necho\n")}, "d/data": {Data: []byte("a\r\n")}}
	for name, want := range map[string]string{"dos.sh": `dos.sh has DOS line breaks: no node has an interpreter called "sh\r"`, "unix.sh": "",
		"mark.sh": "mark.sh begins with a byte order mark", "data": ""} {
		job, err := ParseJob("j.jdl", []byte(`Executable = "`+name+`"; InputSandbox = {"`+name+`"};`), WithRoot(root), WithDir("/d"))
		if err != nil {
			t.Fatal(err)
		}
		if said := fmt.Sprint(job.Warnings); !strings.Contains(said, want) || want == "" && len(job.Warnings) > 0 {
			t.Errorf("%s: %s", name, said)
		}
	}
}
