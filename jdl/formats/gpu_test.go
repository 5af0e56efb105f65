package formats

import (
	"fmt"
	"strings"
	"testing"

	"gridbroker/jdl"
	"gridbroker/jdl/adl"
	"gridbroker/jdl/condor"
	"gridbroker/jdl/sbatch"
	"gridbroker/jdl/xrsl"
)

// TestGPUTypes: a type of GPU is a runtime environment in every language that is read, and comes back from every language
// that can ask for it.
func TestGPUTypes(t *testing.T) {
	const program = "Executable = \"/bin/ls\"; StdOutput = \"o\"; OutputSandbox = {\"o\"};\n"
	for _, c := range []struct{ src, want, gpus, device string }{
		{"GPUNumber = 2; GPUModel = \"a100\";", "2 [gpu:a100]", "--gpus=a100:2", "(^|[^a-z0-9])a100([^a-z0-9]|$)"},
		{"GPUModel = \"Tesla V100\";", "1 [gpu:Tesla_V100]", "--gpus=Tesla_V100:1", "(^|[^a-z0-9])Tesla[ _]V100([^a-z0-9]|$)"},
		{"GPUNumber = 0; GPUModel = \"a100\";", "0 []", "", ""},
		{"GPUNumber = 3; RunTimeEnvironment = \"GPU:h100.nvl\"; GPUModel = \"H100.NVL\";", "3 [GPU:h100.nvl]", "--gpus=h100.nvl:3", "(^|[^a-z0-9])h100[.]nvl([^a-z0-9]|$)"},
		{"GPUNumber = 3; RunTimeEnvironment = {\"gpu:a\", \"gpu:b\"};", "3 [gpu:a gpu:b]", "--gpus=a:2,b:2", "refused"},
	} {
		j := parseTest(t, program+c.src)
		if got := fmt.Sprint(j.Demand.GPUs, " ", j.Demand.RuntimeEnvironments); got != c.want {
			t.Errorf("%s: %s, want %s", c.src, got, c.want)
		}
		script, err := sbatch.Write(j, sbatch.Options{})
		if err != nil || c.gpus == "" && strings.Contains(string(script), "gpus") || !strings.Contains(string(script), c.gpus) {
			t.Errorf("%s: %v, want %s in\n%s", c.src, err, c.gpus, script)
		}
		submit, err := condor.Write(j, condor.Options{})
		if c.device == "refused" {
			if err == nil || !strings.Contains(err.Error(), "types a, b") {
				t.Errorf("%s: %v\n%s", c.src, err, submit)
			}
			continue
		}
		if err != nil || (c.device != "") != strings.Contains(string(submit), "require_gpus") ||
			c.device != "" && !strings.Contains(string(submit), `require_gpus = regexp("`+c.device+`", DeviceName, "i")`) {
			t.Errorf("%s: %v\n%s", c.src, err, submit)
		}
		back(t, c.src, "x.sub", submit, strings.Replace(c.want, "GPU:", "gpu:", 1))
		back(t, c.src, "x.sh", script, strings.Replace(c.want, "GPU:", "gpu:", 1))
		if j.Demand.GPUs > 0 {
			text, err := xrsl.Write(j, xrsl.Options{})
			if err == nil || !strings.Contains(err.Error(), "GPUNumber") {
				t.Errorf("%s: xRSL: %v\n%s", c.src, err, text)
			}
		}
		want := "0" + c.want[1:] // of their number nothing is said
		lossy, _ := xrsl.Write(j, xrsl.Options{Lossy: true})
		back(t, c.src, "x.xrsl", lossy, want)
		lossy, _ = adl.Write(j, adl.Options{Lossy: true})
		back(t, c.src, "x.adl", lossy, want)
	}
}

// back reads what was written.
func back(t *testing.T, src, file string, text []byte, want string) {
	t.Helper()
	set, err := ParseJobs(file, text, jdl.WithoutFiles(), jdl.WithDir("/job"))
	if err != nil {
		t.Errorf("%s: %s: %v\n%s", src, file, err, text)
		return
	}
	if d := set.Jobs[0].Demand; fmt.Sprint(d.GPUs, " ", d.RuntimeEnvironments) != want {
		t.Errorf("%s: %s: %d %v, want %s\n%s", src, file, d.GPUs, d.RuntimeEnvironments, want, text)
	}
}

// TestKeptGPUs: what a submit description wants of GPUs beside their type is kept, and the type is joined to it; a
// name that is no type is refused.
func TestKeptGPUs(t *testing.T) {
	j := parseTest(t, "Executable = \"/bin/ls\"; GPUModel = \"a100\"; CondorSubmit = [ require_gpus = \"Capability >= 8.0 || false\" ];")
	text, err := condor.Write(j, condor.Options{})
	if err != nil || strings.Count(string(text), "require_gpus") != 1 ||
		!strings.Contains(string(text), `require_gpus = (Capability >= 8.0 || false) && regexp("(^|[^a-z0-9])a100([^a-z0-9]|$)", DeviceName, "i")`) {
		t.Errorf("%v\n%s", err, text)
	}
	if _, err := ParseJobs("x.jdl", []byte("Executable = \"/bin/ls\"; GPUModel = \"a100>=2\";"), jdl.WithoutFiles()); err == nil || !strings.Contains(err.Error(), "no type of GPU") {
		t.Errorf("%v", err)
	}
}
