package remote

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gridbroker/jdl"
	"gridbroker/plugins"
)

// TestPrologueAndEpilogue: where the prologue fails the program is not run and the job says so; the epilogue is run whatever
// became of the program, and its code counts where that was 0. A job that is started anew says nothing of before.
func TestPrologueAndEpilogue(t *testing.T) {
	sh := func(line string) (string, []string) { return "/bin/sh", []string{"-c", line} }
	for _, c := range []struct{ prologue, main, epilogue, out, outcome string }{
		{"echo a; exit 3", "echo b", "echo c", "a\n", "3 prologue"},
		{"echo a", "echo b; exit 5", "echo c", "a\nb\nc\n", "5 run"},
		{"", "echo b", "echo c; exit 6", "b\nc\n", "6 run"},
		{"", "exit 5", "exit 6", "", "5 run"},
		{"echo a", "echo b", "echo c", "a\nb\nc\n", "0 -"},
		{"echo a", "exit 5", "", "a\n", "5 run"},
	} {
		job := &jdl.Job{StdOutput: "out"}
		job.Executable, job.Args = sh(c.main)
		if c.prologue != "" {
			job.Prologue, job.PrologueArgs = sh(c.prologue)
		}
		if c.epilogue != "" {
			job.Epilogue, job.EpilogueArgs = sh(c.epilogue)
		}
		dir := t.TempDir()
		for name, text := range map[string]string{
			"words.sh": words(plugins.Request{Job: job}, Nodes{}), "launched": "prologue of before\n",
			"job.sh": stepsText + "outcome=../outcome\nleave() { exit \"$1\"; }\ncd work\nbegin\n. ../words.sh\nrun_job\n",
		} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Mkdir(filepath.Join(dir, "work"), 0o700); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("/bin/sh", "job.sh")
		cmd.Dir = dir
		log, _ := cmd.CombinedOutput() // it ends with the job's code
		out, _ := os.ReadFile(filepath.Join(dir, "work", "out"))
		text, err := os.ReadFile(filepath.Join(dir, "outcome"))
		o := parseOutcomes("job j\n"+string(text), []string{"j"})["j"]
		if err != nil || string(out) != c.out || !strings.HasSuffix(string(text), " "+c.outcome+"\n") || o.Ran() == strings.Contains(c.outcome, "prologue") {
			t.Errorf("%+v: output %q, outcome %q, log %q, %v", c, out, text, log, err)
		}
		if told := strings.Contains(string(log), "/bin/sh ended with exit code 3"); told == o.Ran() {
			t.Errorf("%+v: log %q", c, log)
		}
	}
}
