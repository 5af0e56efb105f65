package jdl_test

import (
	"slices"
	"strings"
	"testing"

	"gridbroker/jdl"
	"gridbroker/jdl/classad"
	"gridbroker/jdl/condor"
	"gridbroker/jdl/sbatch"
	"gridbroker/jdl/xrsl"
)

const ownImage = "docker://registry.example.org:5000/me/tool@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

// A job's own image asks for the places that take one, and goes along into the languages that can say it.
func TestContainerImage(t *testing.T) {
	job, err := jdl.ParseJob("job.jdl", []byte(`Executable = "/bin/ls"; ContainerImage = "`+ownImage+`";`))
	if err != nil {
		t.Fatal(err)
	}
	if got := job.Demand.RuntimeEnvironments; !slices.Equal(got, []string{jdl.UserImageTag}) || job.UserImage() != ownImage {
		t.Errorf("%q, %q", got, job.UserImage())
	}
	if at, e := job.EnvironmentClause(jdl.UserImageTag); at != "ContainerImage" || e == nil {
		t.Errorf("asked for by %q", at)
	}
	if sent := job.InTags([]string{"vee-userimage"}); sent.UserImage() != ownImage || sent.Demand.RuntimeEnvironments[0] != "vee-userimage" {
		t.Errorf("as it is sent: %q", sent.Demand.RuntimeOptions)
	}
	script, err := sbatch.Write(job, sbatch.Options{})
	if err != nil || strings.Count(string(script), "--image '"+ownImage+"'") != 2 {
		t.Errorf("%v\n%s", err, script)
	}
	submit, err := condor.Write(job, condor.Options{})
	if err != nil || !strings.Contains(string(submit), "universe = container\ncontainer_image = "+ownImage+"\n") {
		t.Errorf("%v\n%s", err, submit)
	}
	again, err := condor.Read("x.sub", submit, jdl.NewNearby("", jdl.WithDir("/")), func(*classad.Diagnostic) {})
	if err != nil || len(again) != 1 {
		t.Fatalf("%v, %v", err, again)
	}
	if image, ok := again[0].EvalAttr("ContainerImage", nil).Str(); !ok || image != ownImage {
		t.Errorf("read back: %q", image)
	}
	text, err := xrsl.Write(job, xrsl.Options{})
	if err != nil || !strings.Contains(string(text), `"VEE-UserImage" "`+ownImage+`"`) {
		t.Errorf("%v\n%s", err, text)
	}
}

func TestContainerImageIsRefused(t *testing.T) {
	digest := "@sha256:" + strings.Repeat("a", 64)
	for image, want := range map[string]string{
		"docker://r.example/x:latest":                          "named by its digest",
		"docker://r.example/x@sha256:abc":                      "64 hexadecimal digits",
		"oci:/home/me/images" + digest:                         "lies in a registry",
		"docker://r.example/../x" + digest:                     "letters, digits",
		"docker://me:secret@r.example/x" + digest:              "letters, digits",
		"docker://r.example/x$(id)" + digest:                   "letters, digits",
		"docker://r.example/x" + digest + "\nuniverse = local": "64 hexadecimal digits",
		"docker://r.example/" + strings.Repeat("x", 600):       "named by its digest",
	} {
		if why := jdl.CheckImage(image); !strings.Contains(why, want) {
			t.Errorf("%q: %q, want %q", image, why, want)
		}
	}
	_, err := jdl.ParseJob("job.jdl", []byte("Executable = \"/bin/ls\";\nContainerImage = \"docker://r.example/x:1\";"))
	if err == nil || !strings.Contains(err.Error(), "job.jdl:2:") || !strings.Contains(err.Error(), "digest") {
		t.Errorf("%v", err)
	}
	_, err = jdl.ParseJob("job.jdl", []byte(`Executable = "/bin/ls"; RunTimeEnvironment = "VEE-Debian11"; ContainerImage = "`+ownImage+`";`))
	if err == nil || !strings.Contains(err.Error(), "VEE-Debian11 too") {
		t.Errorf("two environments: %v", err)
	}
}
