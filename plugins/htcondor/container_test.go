package htcondor

import (
	"slices"
	"strings"
	"testing"
	"time"

	"gridbroker/jdl"
	"gridbroker/plugins"
)

// A job that brings its image is one of the container universe where slots take those, and one for our launcher where
// the slots' own list says so.
func TestUniverseOfImages(t *testing.T) {
	image := "docker://reg.example.org/x@sha256:" + strings.Repeat("a", 64)
	job, err := jdl.ParseJob("x", []byte(`Executable = "/bin/ls"; ContainerImage = "`+image+`";`))
	if err != nil {
		t.Fatal(err)
	}
	for slotAd, want := range map[string][]string{
		`"HasContainer":true`:                             {"universe = container", "container_image = " + image, `environment = "GRID_CONTAINER=yes"`, "TARGET.HasContainer", "transfer_executable = true"},
		`"HasContainer":true,"HasVEE":"VEE-UserImage"`:    {"universe = container", "TARGET.HasContainer"},
		`"HasContainer":false,"HasVEE":"VEE-UserImage,X"`: {"universe = vanilla", `stringListIMember("VEE-UserImage", TARGET.HasVEE)`},
	} {
		slots, err := parseSlots(`[{"Name":"a","Cpus":1,` + slotAd + `}]`)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Contains(tagsOf(slots), jdl.UserImageTag) {
			t.Errorf("%s: published are %q", slotAd, tagsOf(slots))
		}
		s := &site{}
		s.seen.keep(slots, time.Now())
		head, err := s.head(plugins.Request{ID: "1", Job: job})
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range want {
			if !strings.Contains(head, line) {
				t.Errorf("%s: no %s in\n%s", slotAd, line, head)
			}
		}
	}
	unpacked, err := jdl.ParseJob("x", []byte(`Executable = "/bin/ls"; ContainerImage = "/cvmfs/x/tool:1.4";`))
	if err != nil {
		t.Fatal(err)
	}
	slots, err := parseSlots(`[{"Name":"a","Cpus":1,"HasContainer":true}]`)
	if err != nil {
		t.Fatal(err)
	}
	s := &site{}
	s.seen.keep(slots, time.Now())
	if head, err := s.head(plugins.Request{ID: "1", Job: unpacked}); err != nil || !strings.Contains(head, "container_image = /cvmfs/x/tool:1.4\n") || !strings.Contains(head, "transfer_container = false") {
		t.Errorf("%v\n%s", err, head)
	}
	s = &site{}
	s.seen.keep(nil, time.Now())
	if _, err := s.head(plugins.Request{Job: job}); err == nil || !strings.Contains(err.Error(), "VEE-UserImage") {
		t.Errorf("a pool without: %v", err)
	}
}
