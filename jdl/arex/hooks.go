package arex

import (
	"slices"
	"strconv"
	"strings"

	"gridbroker/jdl"
)

// A-REX refuses descriptions with PreExecutable or PostExecutable, and xRSL
// has neither. A job with prologue or epilogue is therefore run by a shell with
// a fixed script, which takes the words of the three programs as parameters,
// each list with its length in front: no text of the job becomes shell code. All
// that A-REX tells of a job whose prologue fails is the exit code: why there is no
// more stands in its standard error.
const (
	hookScript  = hookRun + `run "$@" || { s=$?; echo "prologue $2 ended with exit code $s: the program was not run" >&2; exit $s; }; ` + hookRest
	olderScript = hookRun + `run "$@" || exit; ` + hookRest // of descriptions that were written before that was said

	hookRun = `run() { n=$1; shift; k=$#; ` +
		`while [ "$k" -gt 0 ]; do a=$1; shift; k=$((k-1)); [ "$n" -le 0 ] || { set -- "$@" "$a"; n=$((n-1)); }; done; ` +
		`[ $# -eq 0 ] || "$@"; }; `
	hookRest = `shift $(($1+1)); ` +
		`run "$@"; s=$?; shift $(($1+1)); ` +
		`run "$@" || exit; exit $s`
)

// words is the program and its arguments for a back-end that knows one
// program only.
func words(j *jdl.Job) (program string, args []string) {
	if j.Prologue == "" && j.Epilogue == "" {
		if !strings.Contains(j.Executable, "/") && !j.HasInput(j.Executable) {
			// A-REX wants a file; a bare name is one of the node's PATH.
			return "/usr/bin/env", append([]string{j.Executable}, j.Args...)
		}
		return j.Executable, j.Args
	}
	args = []string{"-c", hookScript, "grid-hooks"}
	args = appendHook(j, args, j.Prologue, j.PrologueArgs)
	args = appendHook(j, args, j.Executable, j.Args)
	return "/bin/sh", appendHook(j, args, j.Epilogue, j.EpilogueArgs)
}

func appendHook(j *jdl.Job, words []string, program string, args []string) []string {
	if program == "" {
		return append(words, "0")
	}
	if j.HasInput(program) {
		program = "./" + program
	}
	return append(append(words, strconv.Itoa(1+len(args)), program), args...)
}

// unhook is the reverse of words.
func unhook(program string, args []string) (lists [3][]string, ok bool) {
	if program != "/bin/sh" || len(args) < 3 || args[0] != "-c" || args[1] != hookScript && args[1] != olderScript {
		return lists, false
	}
	args = args[3:]
	for i := range lists {
		if len(args) == 0 {
			return lists, false
		}
		n, err := strconv.Atoi(args[0])
		if err != nil || n < 0 || n >= len(args) {
			return lists, false
		}
		lists[i], args = args[1:n+1], args[n+1:]
	}
	return lists, len(args) == 0 && len(lists[1]) > 0
}

// Program writes what is to be run, taking a command of ours apart. It returns
// the name of the program where that is a file; "" for one of the node's PATH.
func Program(b *jdl.Builder, path string, args []string) (file string) {
	lists, hooked := unhook(path, args)
	if !hooked {
		lists[1] = slices.Concat([]string{path}, args)
	}
	if !hooked || strings.Contains(lists[1][0], "/") {
		file = strings.TrimPrefix(lists[1][0], "./")
	}
	for i, name := range []string{"Prologue", "Executable", "Epilogue"} {
		if words := lists[i]; len(words) > 0 {
			words[0] = strings.TrimPrefix(words[0], "./")
			b.Str(name, words[0])
			attr := name + "Arguments"
			if name == "Executable" {
				attr = "Arguments"
			}
			b.Str(attr, jdl.JoinArgs(words[1:]))
		}
	}
	return file
}
