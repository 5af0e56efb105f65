package arex

import (
	"math/rand/v2"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"gridbroker/jdl"
)

// pieces are what arguments are made of: what a shell would expand, and what stands for it.
var pieces = []string{"$", "`", "${GRID_DOLLAR}", "${GRID_BACKQUOTE}", "{", "}", "GRID_DOLLAR", "\\", "\"", "'", " ", "*", "$(id)", "a", "-", ";", "$$", "!", "~", "ä"}

// scribble is an argument of some of the pieces.
func scribble(rng *rand.Rand) string {
	var b strings.Builder
	for range rng.IntN(6) {
		b.WriteString(pieces[rng.IntN(len(pieces))])
	}
	return b.String()
}

// TestArgumentsArriveAsTheyAre: whatever the arguments are made of, the shell that reads
// them between double quotes, with the variables that go along, hands them on byte for byte,
// and who reads the description again finds them and the job's own variables.
func TestArgumentsArriveAsTheyAre(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 2))
	own := []jdl.EnvVar{{Name: "MINE", Value: "$HOME `x`"}, {Name: "EMPTY"}}
	for range 20 {
		j := &jdl.Job{Executable: "/usr/bin/printf", Args: []string{`%s\0`}, Environment: own}
		for range 40 {
			j.Args = append(j.Args, scribble(rng))
		}
		want := slices.Clone(j.Args)
		program, args, env, err := Command(j)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(j.Args, want) || len(j.Environment) != 2 {
			t.Fatalf("the job itself was changed: %q", j.Args)
		}
		script := program
		for _, a := range args {
			script += ` "` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(a) + `"`
		}
		cmd := exec.Command("/bin/sh", "-c", script)
		for _, v := range env {
			cmd.Env = append(cmd.Env, v.Name+"="+v.Value)
		}
		out, err := cmd.Output()
		if got := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00"); err != nil || !slices.Equal(got, want[1:]) {
			t.Fatalf("%v\n%q, want\n%q", err, got, want[1:])
		}
		back, rest := Restore(args, env)
		if !slices.Equal(back, want) || !slices.Equal(rest, own) {
			t.Fatalf("read again: %q with %v, want %q with %v", back, rest, want, own)
		}
	}
}

// TestWhatAREXCannotPassOn: what would not arrive as it is, is refused with what it is.
func TestWhatAREXCannotPassOn(t *testing.T) {
	dollar := jdl.EnvVar{Name: "GRID_DOLLAR", Value: "5"}
	in := func(name string) []jdl.InputFile { return []jdl.InputFile{{Name: name}} }
	for _, c := range []struct {
		what string
		job  jdl.Job
		want string // ""; it can
	}{
		{"plain", jdl.Job{Executable: "/bin/ls", Args: []string{"a b", "$x"}, StdOutput: "o", StdError: "e+1,2:@=", StdInput: "./in"}, ""},
		{"a line break", jdl.Job{Executable: "/bin/ls", Args: []string{"a\nb"}}, "line break"},
		{"a return", jdl.Job{Executable: "/bin/ls", Args: []string{"a\rb"}}, "line break"},
		{"a line break in a variable", jdl.Job{Executable: "/bin/ls", Environment: []jdl.EnvVar{{Name: "X", Value: "a\nb"}}}, "variable X"},
		{"a program with a blank", jdl.Job{Executable: "/bin/l s"}, `file "/bin/l s"`},
		{"a program that is a command", jdl.Job{Executable: "/bin/$(id)"}, "letters, digits"},
		{"output that is a command", jdl.Job{Executable: "/bin/ls", StdOutput: "a;b"}, `file "a;b"`},
		{"input with a quote", jdl.Job{Executable: "/bin/ls", StdInput: "it's"}, "redirect only"},
		{"a letter beyond ASCII", jdl.Job{Executable: "/bin/ls", StdError: "ä"}, "redirect only"},
		{"output into no directory", jdl.Job{Executable: "/bin/ls", StdOutput: "logs/o"}, "does not make the directory logs"},
		{"output into one of the input's", jdl.Job{Executable: "/bin/ls", StdOutput: "logs/o", InputSandbox: in("logs/x")}, ""},
		{"into one of a like name", jdl.Job{Executable: "/bin/ls", StdOutput: "log/o", InputSandbox: in("logs/x")}, "does not make the directory log"},
		{"a variable of our name, not needed", jdl.Job{Executable: "/bin/ls", Environment: []jdl.EnvVar{dollar}}, ""},
		{"a variable of our name, needed", jdl.Job{Executable: "/bin/ls", Args: []string{"$x"}, Environment: []jdl.EnvVar{dollar}}, "variable GRID_DOLLAR"},
		{"the other mark", jdl.Job{Executable: "/bin/ls", Args: []string{"`x`"}, Environment: []jdl.EnvVar{dollar}}, ""},
	} {
		_, args, env, err := Command(&c.job)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.what, err, c.want)
		}
		if err != nil && (args != nil || env != nil) {
			t.Errorf("%s: refused, and a command all the same: %q", c.what, args)
		}
	}
}

// TestProgramsReadAgain: a job with prologue and epilogue that was written as one program
// is the same three when it is read again; what only looks like it is a program of its own.
func TestProgramsReadAgain(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 2))
	list := func() (out []string) {
		for range rng.IntN(4) {
			out = append(out, scribble(rng))
		}
		return out
	}
	for range 200 {
		j := &jdl.Job{Executable: "/bin/main", Args: list()}
		if rng.IntN(2) == 0 {
			j.Prologue, j.PrologueArgs = "/bin/first", list()
		}
		if rng.IntN(2) == 0 || j.Prologue == "" {
			j.Epilogue, j.EpilogueArgs = "last", list()
		}
		program, args := words(j)
		lists, ok := unhook(program, args)
		want := [3][]string{append([]string{j.Prologue}, j.PrologueArgs...), append([]string{j.Executable}, j.Args...), append([]string{j.Epilogue}, j.EpilogueArgs...)}
		for i := range want {
			if want[i][0] == "" {
				want[i] = nil
			}
			if !ok || !slices.Equal(lists[i], want[i]) {
				t.Fatalf("%q of %q, want %q", lists, args, want)
			}
		}
	}
	for _, args := range [][]string{
		nil, {"-c", hookScript}, {"-c", hookScript, "x"}, {"-c", hookScript, "x", "0", "1"}, {"-c", hookScript, "x", "0", "0", "0"},
		{"-c", hookScript, "x", "0", "1", "/bin/a", "0", "more"}, {"-c", hookScript, "x", "-1", "1", "/bin/a", "0"},
		{"-c", hookScript, "x", "99999999999999999999", "1", "/bin/a", "0"}, {"-c", hookScript, "x", "0", "9", "/bin/a", "0"},
		{"-c", hookScript + " ", "x", "0", "1", "/bin/a", "0"}, {"-x", hookScript, "x", "0", "1", "/bin/a", "0"},
	} {
		if lists, ok := unhook("/bin/sh", args); ok {
			t.Errorf("%q was taken for %q", args, lists)
		}
	}
}
