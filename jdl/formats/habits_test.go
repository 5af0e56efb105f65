package formats_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"gridbroker/jdl"
	"gridbroker/jdl/condor"
	"gridbroker/jdl/formats"
)

// read reads a description in whatever language it looks like, beside some files.
func read(t *testing.T, file, src string, more map[string]string) (set *jdl.JobSet, warnings string, err error) {
	t.Helper()
	files := fstest.MapFS{}
	for name, text := range more {
		files["job/"+name] = &fstest.MapFile{Data: []byte(text)}
	}
	set, err = formats.ParseJobs(file, []byte(src), jdl.WithRoot(files), jdl.WithDir("/job"), jdl.WithoutFiles())
	if err != nil {
		return nil, "", err
	}
	said := set.Warnings
	for _, j := range set.Jobs {
		said = append(said[:len(said):len(said)], j.Warnings...)
	}
	for _, w := range said {
		warnings += w.Error() + "\n"
	}
	return set, warnings, nil
}

// TestAttributeFirst: a submit description may begin with an attribute of the job's own, as those that CRAB writes do, and is
// no xRSL for that.
func TestAttributeFirst(t *testing.T) {
	for src, want := range map[string]formats.Format{
		"+ProjectName = \"x\"\nexecutable = /bin/true\nqueue\n":        formats.Condor,
		"\n +CRAB_Id = 7\nuniverse = vanilla\nexecutable = a\nqueue 2": formats.Condor,
		"+(&(executable=a))(&(executable=b))":                          formats.XRSL,
		"+\n( &(executable=\"a\") )":                                   formats.XRSL,
	} {
		if got := formats.Detect([]byte(src)); got != want {
			t.Errorf("%q is %s, want %s", src, got, want)
		}
	}
}

// TestReplacedAtMatchTime: what the negotiator replaces in an attribute that only HTCondor acts on stays there; in a job's own
// words it is refused.
func TestReplacedAtMatchTime(t *testing.T) {
	const attribute = `+JOBGLIDEIN_Site = "$$([ifThenElse(GLIDEIN_Site is undefined, \"Unknown\", GLIDEIN_Site)])$(x)"`
	set, warnings, err := read(t, "x.sub", attribute+"\nx = y\nexecutable = /bin/true\nqueue\n", nil)
	if err != nil || !strings.Contains(warnings, "+jobglidein_site is only kept for HTCondor") {
		t.Fatal(err, warnings)
	}
	text, err := condor.Write(set.Jobs[0], condor.Options{})
	if err != nil || !strings.Contains(string(text), `My.jobglidein_site = "$$([ifThenElse(GLIDEIN_Site is undefined, \"Unknown\", GLIDEIN_Site)])y"`) {
		t.Errorf("%v\n%s", err, text)
	}
	if _, _, err := read(t, "x.sub", "executable = /bin/true\narguments = $$(Cpus)\nqueue\n", nil); err == nil || !strings.Contains(err.Error(), "match time") {
		t.Errorf("a job's own words: %v", err)
	}
}

// TestNamesThatAreUsed: what conditions and queue statements refer to is used.
func TestNamesThatAreUsed(t *testing.T) {
	set, warnings, err := read(t, "x.sub", "executable = /bin/true\ntest = 1\nother = 1\nif $(test)\n N = 2\nelse\n N = 100\nendif\nqueue $(N)\n", nil)
	if err != nil || len(set.Jobs) != 2 || strings.Contains(warnings, "test is not used") || strings.Contains(warnings, "n is not used") || !strings.Contains(warnings, "other is not used") {
		t.Errorf("%v: %s", err, warnings)
	}
}

// TestMacrosOfNodes: DAGMan 23.9 sets them in a node's submit file, whatever VARS say.
func TestMacrosOfNodes(t *testing.T) {
	sub := "executable = /bin/echo\ntransfer_executable = false\narguments = $(JOB) $(DAG_NODE_NAME) $(Name) $(RETRY) [$(DAG_PARENT_NAMES)] $(DAGManJobId)\noutput = o_$(JOB).txt\nqueue\n"
	set, warnings, err := read(t, "x.dag", "JOB A a.sub\nJOB B a.sub\nJOB C a.sub\nPARENT A B CHILD C\nVARS A name=\"x$(JOB)\"\nRETRY C 2\n", map[string]string{"a.sub": sub})
	if err != nil || len(set.Jobs) != 3 {
		t.Fatal(err)
	}
	for i, want := range []string{"A A xA 0 [] 0: o_A.txt", "B B 0 [] 0: o_B.txt", "C C 0 [A,B] 0: o_C.txt"} {
		if got := strings.Join(set.Jobs[i].Args, " ") + ": " + set.Jobs[i].StdOutput; got != want {
			t.Errorf("node %d: %q, want %q", i, got, want)
		}
	}
	if strings.Count(warnings, "$(RETRY) is 0 at every try") != 1 {
		t.Errorf("told is %q", warnings)
	}
}

// TestImageOfScripts: the image that a script for Slurm names by pyxis' option is the job's; one that nothing here starts is
// refused, and not left out.
func TestImageOfScripts(t *testing.T) {
	script := func(options string) (*jdl.JobSet, string, error) {
		return read(t, "a.sh", "#!/bin/sh\n#SBATCH --time=5\n#SBATCH "+options+"\nhostname\n", nil)
	}
	for given, want := range map[string]string{
		"docker://ubuntu:22.04":                "docker://docker.io/library/ubuntu:22.04",
		`nvcr.io\#nvidia/pytorch:23.01-py3`:    "docker://nvcr.io/nvidia/pytorch:23.01-py3",
		`docker://ghcr.io\#me/tool:1`:          "docker://ghcr.io/me/tool:1",
		"/cvmfs/unpacked.cern.ch/x/me/tool:1/": "/cvmfs/unpacked.cern.ch/x/me/tool:1",
	} {
		if strings.HasPrefix(given, "/") {
			want = strings.TrimSuffix(given, "/")
		}
		set, warnings, err := script("--container-image=" + given)
		if err != nil || set.Jobs[0].UserImage() != want || strings.Contains(warnings, "not used") {
			t.Errorf("%s: %v, %s", given, err, warnings)
		}
	}
	if _, warnings, err := script("--container-image=nvcr.io#nvidia/pytorch:23.01-py3"); err != nil || !strings.Contains(warnings, "a.sh:3:34: sbatch ends the options at a #") {
		t.Errorf("a # in a name: %v, %s", err, warnings)
	}
	for options, want := range map[string]string{
		"--container-image=/images/tool.sqsh": "apptainer exec",
		"--container-image=./tool.sqsh":       "apptainer exec",
		"--container=/bundles/x":              "started by Slurm alone",
	} {
		if _, _, err := script(options); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "a.sh:3:") {
			t.Errorf("%s: %v", options, err)
		}
	}
}

// TestStepOfAnArray: a script that goes by the step of its array gets it.
func TestStepOfAnArray(t *testing.T) {
	for array, want := range map[string]string{"0-10:5": "5", "1-3%2": "1", "0-9:3%2": "3", "4,6": "1"} {
		set, warnings, err := read(t, "a.sh", "#!/bin/sh\n#SBATCH --array="+array+"\necho $SLURM_ARRAY_TASK_STEP\n", nil)
		if err != nil || strings.Contains(warnings, "set by Slurm alone") || len(set.Jobs[0].Environment) != 1 || set.Jobs[0].Environment[0].Value != want {
			t.Errorf("%s: %v, %v, %s", array, err, set.Jobs[0].Environment, warnings)
		}
	}
}

// TestArrayID: a script that ends where a variable is not set gets the array's number, which all of its tasks share.
func TestArrayID(t *testing.T) {
	set, warnings, err := read(t, "a.sh", "#!/bin/sh\n#SBATCH --array=1-2%1\nset -u\necho $SLURM_ARRAY_JOB_ID\n", nil)
	if err != nil || !strings.Contains(warnings, "SLURM_ARRAY_JOB_ID is 0") || len(set.Jobs) != 2 {
		t.Fatal(err, warnings)
	}
	for _, j := range set.Jobs {
		if len(j.Environment) != 1 || j.Environment[0] != (jdl.EnvVar{Name: "SLURM_ARRAY_JOB_ID", Value: "0"}) {
			t.Errorf("variables %v", j.Environment)
		}
	}
}

// TestNoInputData: an InputData of DIRAC's without any names nothing that is not brought.
func TestNoInputData(t *testing.T) {
	for value, told := range map[string]bool{`""`: false, `{}`: false, `"LFN:/vo/x"`: true} {
		_, warnings, err := read(t, "a.jdl", "Executable = \"/bin/ls\"; JobGroup = \"g\"; BannedSites = {\"LCG.X.uk\"}; CPUTime = 60; InputData = "+value+";", nil)
		if err != nil || strings.Contains(warnings, "InputData is not brought") != told {
			t.Errorf("%s: %v, %s", value, err, warnings)
		}
	}
}

// TestMarksOfEditors: the byte order mark that an editor puts before a text is no part of it, but of a script, which no node
// could run then.
func TestMarksOfEditors(t *testing.T) {
	for name, src := range map[string]string{"jdl": `Executable = "/bin/echo";`, "xrsl": "&(executable=/bin/echo)", "json": `{"Executable": "/bin/echo"}`,
		"sub": "executable = /bin/echo\nqueue\n", "adl": `<ActivityDescription xmlns="http://www.eu-emi.eu/es/2010/12/adl"><Application><Executable><Path>/bin/echo</Path></Executable></Application></ActivityDescription>`} {
		set, _, err := read(t, "x."+name, "\ufeff"+src, nil)
		if err != nil || len(set.Jobs) != 1 || !strings.HasSuffix(set.Jobs[0].Executable, "echo") {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, _, err := read(t, "x.sh", "\ufeff#!/bin/sh\n#SBATCH -n 1\n", nil)
	if err == nil || !strings.Contains(err.Error(), "x.sh:1:1: the script begins with a byte order mark") {
		t.Error(err)
	}
}

// TestJSONInAnotherAlphabet: JSON that is not UTF-8 is refused where it begins to be, and no other character is put in its place.
func TestJSONInAnotherAlphabet(t *testing.T) {
	_, _, err := read(t, "x.json", "{\"Executable\": \"/bin/echo\",\n \"Arguments\": \"caf\xe9\"}", nil)
	if err == nil || !strings.Contains(err.Error(), "x.json:2:19: the text is not UTF-8") {
		t.Error(err)
	}
}

// TestRecordInBraces: a record in the brackets of lists is told as that, not as JSON that is none.
func TestRecordInBraces(t *testing.T) {
	for src, want := range map[string]string{
		"{ Executable = \"/bin/date\"; }":       "x.jdl:1:1: a record stands in [ ]",
		"\n{\n  Type = \"Job\";\n}":             "x.jdl:2:1: a record stands in [ ]",
		"{ \"Executable\": \"/bin/date\", }":    "x.jdl:1:30: ",
		"{ Executable: \"/bin/date\" }":         "x.jdl:1:3: ",
		"{ \"Executable\": \"/bin/date\" } [ ]": "text after the end",
	} {
		_, _, err := read(t, "x.jdl", src, nil)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "a record") != strings.Contains(want, "a record") {
			t.Errorf("%q: %v, want %s", src, err, want)
		}
	}
}
