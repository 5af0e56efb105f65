package arex

import (
	"errors"
	"os"
	"os/exec"
	"reflect"
	"strings"
	"testing"

	"gridbroker/jdl"
	"gridbroker/testdata/testbed"
)

// TestHooks runs a job with prologue and epilogue as a back-end that knows one
// program would.
func TestHooks(t *testing.T) {
	run := func(j *jdl.Job) (string, int) {
		program, args := words(j)
		cmd := exec.Command(program, args...)
		out, err := cmd.CombinedOutput()
		if _, failed := errors.AsType[*exec.ExitError](err); err != nil && !failed {
			t.Fatal(err)
		}
		return string(out), cmd.ProcessState.ExitCode()
	}
	evil := "$(touch HACKED) `x` '; exit 9; \" \n"
	j := &jdl.Job{
		Prologue: "/usr/bin/printf", PrologueArgs: []string{"<%s>", "a b", evil},
		Executable: "/bin/sh", Args: []string{"-c", "echo \"[$1]\"; exit 3", "sh", "*"},
		Epilogue: "/bin/echo", EpilogueArgs: []string{"", "end"},
	}
	out, code := run(j)
	testbed.Equal(t, "all three", out, "<a b><"+evil+">[*]\n end\n")
	testbed.Equal(t, "exit code", code, 3)
	j.Prologue, j.PrologueArgs = "/bin/false", nil
	out, code = run(j)
	testbed.Equal(t, "failed prologue", []any{out, code}, []any{"prologue /bin/false ended with exit code 1: the program was not run\n", 1})
	j.Prologue, j.Epilogue, j.EpilogueArgs = "", "/bin/false", nil
	out, code = run(j)
	testbed.Equal(t, "failed epilogue", []any{out, code}, []any{"[*]\n", 1})
}

// TestArexExpansion has the shells that job scripts are written for expand what
// A-REX puts between double quotes.
func TestArexExpansion(t *testing.T) {
	j := &jdl.Job{Executable: "/usr/bin/printf", Args: []string{"<%s>", "$HOME", "`id`", "a b", "${X}"}}
	program, args, env, err := Command(j)
	if err != nil {
		t.Fatal(err)
	}
	for _, shell := range []string{"/bin/sh", "/bin/bash"} {
		if _, err := os.Stat(shell); err != nil {
			continue
		}
		script := `"` + program + `"`
		for _, a := range args {
			script += ` "` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(a) + `"`
		}
		cmd := exec.Command(shell, "-c", script)
		for _, v := range env {
			cmd.Env = append(cmd.Env, v.Name+"="+v.Value)
		}
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		testbed.Equal(t, shell, string(out), "<$HOME><`id`><a b><${X}>")
	}
}

// TestProloguesFailure: a job whose prologue fails says so where it writes its errors, and does not run its program; a
// description that was written before it did is taken apart as one of now.
func TestProloguesFailure(t *testing.T) {
	j := &jdl.Job{Executable: "/bin/echo", Args: []string{"main"}, Prologue: "/bin/sh", PrologueArgs: []string{"-c", "exit 7"}, Epilogue: "/bin/echo"}
	program, args := words(j)
	cmd := exec.Command(program, args...)
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if want := "prologue /bin/sh ended with exit code 7: the program was not run\n"; errs.String() != want || len(out) > 0 || cmd.ProcessState.ExitCode() != 7 {
		t.Errorf("%q, %q, %v", out, errs.String(), err)
	}
	now, ok := unhook(program, args)
	args[1] = olderScript
	before, older := unhook(program, args)
	if !ok || !older || !reflect.DeepEqual(now, before) || now[0][2] != "exit 7" {
		t.Errorf("%q, %q", now, before)
	}
}
