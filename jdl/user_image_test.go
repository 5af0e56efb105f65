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
		"docker://r.example/x:latest":             "named by its digest",
		"docker://r.example/x@sha256:abc":         "64 hexadecimal digits",
		"oci:/home/me/images" + digest:            "lies in a registry",
		"/cvmfs/x/tool.sif":                       "apptainer exec",
		"tool.SIF":                                "apptainer exec",
		"oras://r.example/me/tool:1":              "apptainer exec",
		"library://me/tool:1":                     "apptainer exec",
		"/cvmfs/x/../y":                           "absolute path in letters",
		"/cvmfs/x;id":                             "absolute path in letters",
		"/cvmfs/x y":                              "absolute path in letters",
		"/":                                       "absolute path in letters",
		"images/tool":                             "lies in a registry",
		"docker://r.example/../x" + digest:        "letters, digits",
		"docker://me:secret@r.example/x" + digest: "letters, digits",
		"docker://r.example/x$(id)" + digest:      "letters, digits",
		"docker://r.example/x" + digest + "\nuniverse = local": "64 hexadecimal digits",
		"docker://r.example/" + strings.Repeat("x", 600):       "named by its digest",
	} {
		if why := jdl.CheckImage(image); !strings.Contains(why, want) {
			t.Errorf("%q: %q, want %q", image, why, want)
		}
	}
	_, err := jdl.ParseJob("job.jdl", []byte("Executable = \"/bin/ls\";\nContainerImage = \"docker://r.example/x@sha256:1\";"))
	if err == nil || !strings.Contains(err.Error(), "job.jdl:2:") || !strings.Contains(err.Error(), "digits") {
		t.Errorf("%v", err)
	}
	_, err = jdl.ParseJob("job.jdl", []byte(`Executable = "/bin/ls"; RunTimeEnvironment = "VEE-Debian11"; ContainerImage = "`+ownImage+`";`))
	if err == nil || !strings.Contains(err.Error(), "VEE-Debian11 too") {
		t.Errorf("two environments: %v", err)
	}
}

// TestImageByTag: an image that is named by a tag, as most are, or by Docker's short name, is one by its digest when the
// job is sent; into HTCondor's language it goes as it is, into others it is an error.
func TestImageByTag(t *testing.T) {
	digest := "sha256:" + strings.Repeat("a", 64)
	for text, want := range map[string]string{
		"docker://r.example:5000/me/x:v1.2": "docker://r.example:5000/me/x",
		"docker://quay.io/bio/x:1--0":       "docker://quay.io/bio/x",
		"docker://ubuntu:22.04":             "docker://docker.io/library/ubuntu",
		"docker://rootproject/root":         "docker://docker.io/rootproject/root",
		"docker://localhost:5000/x":         "docker://localhost:5000/x",
	} {
		job, err := jdl.ParseJob("job.jdl", []byte(`Executable = "/bin/ls"; ContainerImage = "`+text+`";`))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if _, err := xrsl.Write(job, xrsl.Options{}); err == nil && len(xrsl.Losses(job)) == 0 {
			t.Errorf("%s goes into xRSL without its digest", text)
		}
		if err := job.PinImage(digest); err != nil || job.UserImage() != want+"@"+digest {
			t.Errorf("%s: %s, %v, want %s", text, job.UserImage(), err, want)
		}
		if again, err := jdl.LoadJob(job.Text()); err != nil || again.UserImage() != want+"@"+digest {
			t.Errorf("%s: recorded as %v, %v", text, again, err)
		}
		if err := job.PinImage(digest); err == nil {
			t.Errorf("%s was given a digest twice", text)
		}
	}
	for _, text := range []string{"universe = docker\ndocker_image = quay.io/bio/x:1", "container_image = docker://quay.io/bio/x:1", `docker_image = "quay.io/bio/x:1"`} {
		ads, err := condor.Read("x.sub", []byte("executable = /bin/true\n"+text+"\nqueue\n"), jdl.NewNearby("", jdl.WithDir("/")), func(*classad.Diagnostic) {})
		if err != nil || len(ads) != 1 {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if image, _ := ads[0].EvalAttr("ContainerImage", nil).Str(); image != "docker://quay.io/bio/x:1" {
			t.Errorf("%s: %q", text, image)
		}
	}
	if _, err := condor.Read("x.sub", []byte("executable = /bin/true\ndocker_image = a:1\ncontainer_image = docker://b:1\nqueue\n"), jdl.NewNearby("", jdl.WithDir("/")), func(*classad.Diagnostic) {}); err == nil || !strings.Contains(err.Error(), "exclude each other") {
		t.Errorf("two images: %v", err)
	}
}

// TestImageInAFolder: an unpacked image on the nodes, as HTCondor's submit files name it in three ways, stays what it is in every
// language that can say it.
func TestImageInAFolder(t *testing.T) {
	const folder = "/cvmfs/unpacked.cern.ch/registry.hub.docker.com/me/tool:1.4"
	read := func(text string) (*classad.Ad, error) {
		ads, err := condor.Read("x.sub", []byte("executable = /bin/true\n"+text+"\nqueue\n"), jdl.NewNearby("", jdl.WithDir("/")), func(d *classad.Diagnostic) { t.Errorf("%s: %v", text, d) })
		if err != nil {
			return nil, err
		}
		return ads[0], nil
	}
	for _, text := range []string{"container_image = " + folder, "universe = container\ncontainer_image = " + folder + "\ntransfer_container = false", `+SingularityImage = "` + folder + `/"`, `My.SingularityImage = "` + folder + `"`} {
		ad, err := read(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if image, _ := ad.EvalAttr("ContainerImage", nil).Str(); image != folder {
			t.Errorf("%s: %q", text, image)
		}
	}
	for text, want := range map[string]string{
		`+SingularityImage = "/cvmfs/x/tool.sif"`:                                   "apptainer exec",
		`+SingularityImage = "` + folder + `"` + "\ncontainer_image = docker://b:1": "exclude each other",
	} {
		if _, err := read(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	job, err := jdl.ParseJob("job.jdl", []byte(`Executable = "/bin/ls"; ContainerImage = "`+folder+`";`))
	if err != nil || job.UserImage() != folder || len(job.ImageLoss()) > 0 {
		t.Fatalf("%v: %q", err, job.UserImage())
	}
	script, err := sbatch.Write(job, sbatch.Options{})
	if err != nil || strings.Count(string(script), "--image '"+folder+"'")+strings.Count(string(script), "--image "+folder) != 2 {
		t.Errorf("%v\n%s", err, script)
	}
	submit, err := condor.Write(job, condor.Options{})
	if err != nil || !strings.Contains(string(submit), "universe = container\ncontainer_image = "+folder+"\ntransfer_container = false\n") {
		t.Errorf("%v\n%s", err, submit)
	}
	text, err := xrsl.Write(job, xrsl.Options{})
	if err != nil || !strings.Contains(string(text), `"VEE-UserImage" "`+folder+`"`) {
		t.Errorf("%v\n%s", err, text)
	}
}
