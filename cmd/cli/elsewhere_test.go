package cli_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gridbroker/plugins/all"
)

// TestHabitsFromElsewhere: a flag that another system's command has is told with what
// stands for it here, a state that there is not with those there are.
func TestHabitsFromElsewhere(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "j.jdl"), []byte(`Executable = "/bin/true";`), 0o600); err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]string{
		"submit -a j.jdl":            "grid submit: unknown flag: -a; leave it out: a credential is delegated to each resource that wants one",
		"submit -d DEBUG j.jdl":      "unknown flag: -d; -v and -vv tell more; a credential is delegated without a flag",
		"submit -e &(a=b)":           "unknown flag: -e; a description is a file, or comes on standard input by -: grid submit -",
		"status -d DEBUG":            "unknown flag: -d; -v and -vv tell more",
		"status -g run7":             "unknown flag: -g; --group NAME: the JobName of",
		"submit --dag j.jdl":         `unknown flag: --dag; the description says what it is: Type = "dag"`,
		"submit -batch-name x j.jdl": "unknown flag: -batch-name; batch_name in the submit file",
		"submit -json j.jdl":         "unknown flag: -json; did you mean --json?",
		"submit -wait j.jdl":         "unknown flag: -wait; did you mean --wait?",
		"submit j.jdl -wait=true":    "unknown flag: -wait; did you mean --wait?",
		"list -output json":          "unknown flag: -output; did you mean --output?",
		"list -vlimit 3":             "unknown flag: -vlimit",
		"run -vtime 2h -- env":       "unknown flag: -vtime",
		"list -constraint x":         "unknown flag: -constraint; jobs are chosen by --where",
		"list --where exitcode==0":   "did you mean exit_code?",
		"list --where JobStatus==2":  "names are the keys of a job's JSON: grid list --json",
		"list --where exit_code=0":   "equal is ==: 'exit_code == 0'",
		"man submit":                 "it writes pages into a directory, and submit is a verb: man grid-submit shows",
		"condor_history":             "it is grid list --all here",
		"get --all":                  `unknown command "get"; it is grid output here`,
		"kill -a":                    `unknown command "kill"; it is grid cancel here`,
		"sumbit --wait j.jdl":        `unknown command "sumbit"; did you mean submit?`,
		"glite-wms-job-submit -a":    `unknown command "glite-wms-job-submit"; it is grid submit here`,
		"glite-wms-job-list-match":   `it is grid match here`,
		"dirac-wms-job-get-output":   `it is grid output here`,
		"dirac-wms-job-kill 12":      `it is grid cancel here`,
		"--wiat":                     "grid: unknown flag: --wiat",
		"submit -o ids.txt j.jdl":    "unknown flag: -o; the ids are printed",
		"submit -c ce.x.org j.jdl":   "unknown flag: -c; name a resource by --site",
		"match --queue long j.jdl":   "unknown flag: --queue; the queue is Queue in the description",
		"status -i ids.txt":          "unknown flag: -i; ids are read from standard input by -: grid status - < FILE",
		"output -D out abcd":         "unknown flag: -D; name the directory by --dir",
		"list -n 5":                  "unknown flag: -n; --limit",
		"auth proxy -S atlas":        "unknown flag: -S; --voms VO",
		"auth proxy --hours 24":      "unknown flag: --hours; --valid TIME is how long it lives",
		"auth proxy -I":              "unknown flag: -I; grid auth status",
		"voms-proxy-info -all":       "it is grid auth status here",
		"-version":                   "unknown flag: -version; did you mean --version?",
		"list -n5":                   "unknown flag: -n5; --limit",
		"submit -j jobs.xml j.jdl":   "unknown flag: -j; the ids are printed",
		"submit -f ids j.jdl":        "unknown flag: -f; the ids are printed",
		"submit -S x.arcrest j.jdl":  "unknown flag: -S; leave it out",
		"submit --direct j.jdl":      "unknown flag: --direct; leave it out",
		"submit -x j.jdl":            "unknown flag: -x; grid jdl convert --to adl FILE",
		"output -k --all":            "unknown flag: -k; leave it out: what a job left stays",
		"status -s Finished":         "unknown flag: -s; --state STATE",
		"clean -F --all":             "unknown flag: -F; --yes",
		"status -wait":               "unknown flag: -wait; grid watch",
		"list -l":                    "unknown flag: -l; -o wide; grid show ID tells all of a job",
		"status --long":              "unknown flag: --long; -o wide",
		"list --colums id":           "unknown flag: --colums; did you mean --columns?",
		"plan j.jdl":                 `unknown command "plan"; it is grid submit --dry-run here`,
		"list -x":                    "unknown flag: -x\n",
		"log -f abcd":                "unknown flag: -f; grid watch shows what happens, grid cat -f ID",
		"submit --time 1h j.jdl":     "unknown flag: --time; the description says what the job asks for; grid run --time",
		"run -n 4 -- env":            "4 is no command: processors are --cpus 4, and -n is --dry-run",
		"bsub":                       `unknown command "bsub"; it is grid submit here`,
		"bjobs":                      `it is grid list here`,
		"glite-ce-job-submit -a":     `it is grid submit here`,
		"glite-ce-job-purge x":       `it is grid clean here`,
		"wms-job-submit x":           `it is grid submit here`,
		"list --state dnoe":          "no such state: dnoe; did you mean done?",
		"run -e A=b -- env":          "unknown flag: -e; --env NAME=VALUE",
		"run -c 4 -- env":            "unknown flag: -c; --cpus N",
		"run --gres gpu:1 -- env":    "unknown flag: --gres; --gpu N",
		"run -i in -- env":           "unknown flag: -i; --stdin FILE",
		"list --state xyzzy":         "no such state: xyzzy; there are intended, submitting,",
		"help sumbit":                `unknown command "sumbit"; did you mean submit?`,
		"help jobs":                  `unknown command "jobs"; it is grid list here`,
		"help jdl chek":              `grid jdl: unknown command "chek"; did you mean check?`,
		"completion tcsh":            `grid completion: unknown command "tcsh"`,
		"completion fsh":             `unknown command "fsh"; did you mean fish?`,
		"help completion tcsh":       `grid completion: unknown command "tcsh"`,
		"match":                      "grid match: something is missing: grid match",
		"jdl convert a.jdl b.jdl":    "2 words are too many or too few: grid jdl convert",
	} {
		code, out, errs := oneShotWith(t, dir, all.Backends(), strings.Fields(line)...)
		if code != 2 || out != "" || !strings.Contains(errs, want) || strings.Contains(errs, "shorthand") || strings.Contains(errs, "arg(s)") {
			t.Errorf("grid %s: code %d\n%.200s%.300s", line, code, out, errs)
		}
	}
}

// TestWordsOfAnotherProgram: what stands behind the name of the program to run, or is a flag's value, is no flag of ours.
func TestWordsOfAnotherProgram(t *testing.T) {
	for line, want := range map[string]string{
		"run --show /bin/echo -wait -output x":         `"-wait -output x"`,
		"run --show --name -wait -- /bin/echo -wait x": `"-wait x"`,
		"list --name -wait -ojson":                     "no job is called -wait",
	} {
		_, out, errs := oneShotWith(t, t.TempDir(), all.Backends(), strings.Fields(line)...)
		if !strings.Contains(out+errs, want) || strings.Contains(errs, "unknown flag") {
			t.Errorf("grid %s:\n%.400s%.300s", line, out, errs)
		}
	}
}

// TestFilesThatStayHere: an argument that is a file here does not travel with the job of run, and that is told; one that is brought or
// taken back is not.
func TestFilesThatStayHere(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"in put.txt", "b.txt", "data/x"} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700), os.WriteFile(filepath.Join(dir, name), nil, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--", "cat", "in put.txt"}, "in put.txt is a file here, and stays here: --in \"in put.txt\" brings it along\n"},
		{[]string{"--in", "b.txt", "--", "cat", "b.txt", "data/x", "./b.txt", "data/x", "in put.txt"}, "data/x (and 1 more) is a file here, and stays here: --in data/x brings it along\n"},
		{[]string{"--in", "data/", "--out", "b.txt", "--", "tool", "data/x", "-o", "b.txt", "data", "/etc/passwd"}, ""},
	} {
		_, _, errs := oneShotWith(t, dir, all.Backends(), append([]string{"run", "--dry-run", "--info", "local:"}, c.args...)...)
		if strings.Contains(errs, "stays here") != (c.want != "") || !strings.Contains(errs, c.want) || !strings.Contains(errs, "nothing was sent") {
			t.Errorf("%q: %s", c.args, errs)
		}
	}
}
