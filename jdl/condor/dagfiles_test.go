package condor_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"gridbroker/jdl"
	"gridbroker/jdl/formats"
)

// TestDAGFiles: an input file that is not there comes from the nearest node before that declares it as output, by where
// that would lie on this machine; any other that is not there stays an error.
func TestDAGFiles(t *testing.T) {
	const job = "executable = /bin/true\ntransfer_executable = false\n"
	files := fstest.MapFS{"job/here": {}, "job/sub/here": {}}
	for name, text := range map[string]string{
		"make.sub":    "output = log\ntransfer_output_files = out, deep/two",
		"remap.sub":   "transfer_output_files = out\ntransfer_output_remaps = \"out=sub/mapped\"",
		"any.sub":     "output = log",
		"in.sub":      "transfer_input_files = $(in)",
		"initial.sub": "initialdir = sub\ntransfer_input_files = $(in)",
		"both.sub":    "transfer_input_files = out\ntransfer_output_files = out",
		"stale.sub":   "transfer_output_files = here",
		"sub/in.sub":  "transfer_input_files = $(in)",
		"program.sub": "transfer_executable = true\nexecutable = out",
	} {
		files["job/"+name] = &fstest.MapFile{Data: []byte(job + text + "\nqueue")}
	}
	files["job/twice.sub"] = &fstest.MapFile{Data: []byte(job + "transfer_output_files = out\nqueue 2")}
	for _, c := range []struct{ text, want string }{
		{"JOB A make.sub\nJOB B in.sub\nPARENT A CHILD B\nVARS B in=\"here, out, ./two, log\"", "here out<A:out two<A:deep/two log<A:log"},
		{"JOB A make.sub DIR sub\nJOB B in.sub\nPARENT A CHILD B\nVARS B in=\"sub/out\"", "out<A:out"},
		{"JOB A make.sub\nJOB B initial.sub\nPARENT A CHILD B\nVARS B in=\"../out\"", "out<A:out"},
		{"JOB A remap.sub\nJOB B initial.sub\nPARENT A CHILD B\nVARS B in=\"mapped\"", "mapped<A:out"},
		{"JOB A make.sub\nJOB M both.sub\nJOB B in.sub\nPARENT A CHILD M\nPARENT M CHILD B\nVARS B in=\"out, log\"", "out<M:out log<A:log"},
		{"JOB A make.sub\nJOB N x NOOP\nJOB B in.sub\nPARENT A CHILD N\nPARENT N CHILD B\nVARS B in=\"out\"", "out<A:out"},
		{"JOB A make.sub\nJOB B program.sub\nPARENT A CHILD B", "out<A:out"},
		{"JOB A stale.sub\nJOB B in.sub\nPARENT A CHILD B\nVARS B in=\"here\"", "here warning: node B: here is here and is taken, and not what node A makes"},
		// What a node leaves that does not say what.
		{"JOB A any.sub\nJOB B in.sub\nPARENT A CHILD B\nVARS B in=\"here, got, log\"", "here got<A:got log<A:log warning: node B: got is not here; it is taken of node A, which does not say what it leaves (transfer_output_files)"},
		{"JOB A any.sub\nJOB B in.sub\nPARENT A CHILD B\nVARS B in=\"heer\"", "heer<A:heer warning: node B: heer is not here; it is taken of node A, which does not say what it leaves (transfer_output_files); here is here: was that meant?"},
		{"JOB A any.sub\nJOB M make.sub\nJOB B in.sub\nPARENT A CHILD M\nPARENT M CHILD B\nVARS B in=\"out, got\"", "out<M:out got<A:got warning: node B: got is not here; it is taken of node A, which does not say what it leaves (transfer_output_files)"},
		{"JOB A any.sub\nJOB C any.sub\nJOB B in.sub\nPARENT A C CHILD B\nVARS B in=\"got\"", "t.dag:3:1: node B: got is not here, and A or C may make it"},
		{"JOB A any.sub\nJOB B in.sub\nPARENT A CHILD B\nVARS B in=\"sub/got\"", "InputSandbox: sub/got does not exist"},
		{"JOB A any.sub\nJOB B in.sub\nVARS B in=\"got\"", "InputSandbox: got does not exist"},

		{"JOB A make.sub\nJOB B in.sub\nPARENT A CHILD B\nVARS B in=\"none\"", "InputSandbox: none does not exist"},
		{"JOB A make.sub\nJOB B in.sub\nVARS B in=\"out\"", "InputSandbox: out does not exist"},
		{"JOB A make.sub DONE\nJOB B in.sub\nPARENT A CHILD B\nVARS B in=\"out\"", "InputSandbox: out does not exist"},
		{"JOB A make.sub\nFINAL B in.sub\nVARS B in=\"out\"", "InputSandbox: out does not exist"},
		{"JOB A twice.sub\nJOB B in.sub\nPARENT A CHILD B\nVARS B in=\"out\"", "t.dag:2:1: node B: out is made by A.0 and by A.1"},
	} {
		for name, dir := range files {
			if strings.HasSuffix(name, ".sub") && strings.Contains(c.text, "DIR sub") { // DIR: the submit file lies there
				files["job/sub/"+name[strings.LastIndex(name, "/")+1:]] = dir
			}
		}
		set, err := formats.ParseJobs("t.dag", []byte(c.text), jdl.WithRoot(files), jdl.WithDir("/job"))
		if err != nil {
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("%q: %v, want %s", c.text, err, c.want)
			}
			continue
		}
		var got []string
		last := set.Jobs[len(set.Jobs)-1]
		for _, f := range last.InputSandbox {
			if f.From.Node != "" {
				got = append(got, f.Name+"<"+f.From.Node+":"+f.From.File)
			} else {
				got = append(got, f.Name)
			}
		}
		for _, w := range set.Warnings {
			if strings.Contains(w.Msg, "is taken, and not") || strings.Contains(w.Msg, "it is taken of") {
				got = append(got, "warning: "+w.Msg)
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%q: %v, want %s", c.text, got, c.want)
		}
	}
}
