// Package arex has what ADL and xRSL share because A-REX reads both: how a
// program, its arguments and its environment must be written so that A-REX
// runs them as they are.
package arex

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"gridbroker/jdl"
)

// A-REX puts each argument into its job script between double quotes, where it
// guards \ and " alone (lrms_common.sh of ARC 6.17 and 7.0): $ and ` would be
// expanded on the node. They are written as variables that hold them, which the
// shell expands once and no further.
var marks = []mark{
	{"$", "${GRID_DOLLAR}", jdl.EnvVar{Name: "GRID_DOLLAR", Value: "$"}},
	{"`", "${GRID_BACKQUOTE}", jdl.EnvVar{Name: "GRID_BACKQUOTE", Value: "`"}},
}

// mark is a character, how it is written, and the variable that needs.
type mark struct {
	text, written string
	variable      jdl.EnvVar
}

// Command is the program, its arguments and the environment so that A-REX
// runs the program with the arguments as they are. Line breaks are an error:
// A-REX drops them from variables, and words after them from arguments.
func Command(j *jdl.Job) (program string, args []string, env []jdl.EnvVar, err error) {
	program, args = words(j)
	for _, a := range args {
		if strings.ContainsAny(a, "\r\n") {
			return "", nil, nil, fmt.Errorf("argument %q: A-REX cannot pass a line break on; put it into a file of the InputSandbox", a)
		}
	}
	if err := checkNames(j); err != nil {
		return "", nil, nil, err
	}
	for _, v := range j.Environment {
		if strings.ContainsAny(v.Value, "\r\n") {
			return "", nil, nil, fmt.Errorf("variable %s: A-REX cannot pass a line break on", v.Name)
		}
	}
	env = j.Environment[:len(j.Environment):len(j.Environment)]
	all := strings.Join(args, "")
	var pairs []string
	for _, m := range marks {
		if strings.Contains(all, m.text) {
			if slices.ContainsFunc(env, func(v jdl.EnvVar) bool { return v.Name == m.variable.Name && v.Value != m.variable.Value }) {
				return "", nil, nil, fmt.Errorf("variable %s: A-REX cannot pass %s in an argument on without it; give yours another name", m.variable.Name, m.text)
			}
			pairs = append(pairs, m.text, m.written)
			env = append(env, m.variable)
		}
	}
	if pairs == nil {
		return program, args, env, nil
	}
	written := strings.NewReplacer(pairs...)
	out := make([]string, len(args))
	for i, a := range args {
		out[i] = written.Replace(a)
	}
	return program, out, env, nil
}

// checkNames checks names that A-REX writes into its job script without quotes,
// and that the directories it redirects into will be there.
func checkNames(j *jdl.Job) error {
	for _, name := range []string{j.Executable, j.StdInput, j.StdOutput, j.StdError} {
		if name != "" && !isPlain(name) {
			return fmt.Errorf("file %q: A-REX can run and redirect only names of letters, digits and . _ - + , : / @ =", name)
		}
	}
	for _, name := range []string{j.StdOutput, j.StdError} {
		if dir := Unmade(j, name); dir != "" {
			return fmt.Errorf("file %q: A-REX does not make the directory %s for it: name it without one, or have an input file in it", name, dir)
		}
	}
	return nil
}

// Unmade is the directory of a file that A-REX redirects to and does not make, as it does those of input files; "": there
// is none.
func Unmade(j *jdl.Job, name string) string {
	dir := path.Dir(name)
	if name == "" || dir == "." || slices.ContainsFunc(j.InputSandbox, func(f jdl.InputFile) bool { return strings.HasPrefix(f.Name, dir+"/") }) {
		return ""
	}
	return dir
}

// isPlain reports whether a name is made of characters that the job script
// takes as they are.
func isPlain(name string) bool {
	return strings.IndexFunc(name, func(c rune) bool {
		letter := c|0x20 >= 'a' && c|0x20 <= 'z'
		return !letter && (c < '0' || c > '9') && !strings.ContainsRune("._+,:/@-=", c)
	}) < 0
}

// Restore is the reverse of Command for arguments and environment.
func Restore(args []string, env []jdl.EnvVar) ([]string, []jdl.EnvVar) {
	var pairs []string
	var rest []jdl.EnvVar
	for _, v := range env {
		i := slices.IndexFunc(marks, func(m mark) bool { return m.variable == v })
		if i < 0 {
			rest = append(rest, v)
			continue
		}
		pairs = append(pairs, marks[i].written, marks[i].text)
	}
	plain := strings.NewReplacer(pairs...)
	out := make([]string, len(args))
	for i, a := range args {
		out[i] = plain.Replace(a)
	}
	return out, rest
}
