package jdl

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// A-REX puts each argument into its job script between double quotes, where it
// guards \ and " alone (lrms_common.sh of ARC 6.17 and 7.0): $ and ` would be
// expanded on the node. They are written as variables that hold them, which the
// shell expands once and no further.
var arexMarks = []arexMark{
	{"$", "${GRID_DOLLAR}", EnvVar{"GRID_DOLLAR", "$"}},
	{"`", "${GRID_BACKQUOTE}", EnvVar{"GRID_BACKQUOTE", "`"}},
}

// arexMark is a character, how it is written, and the variable that needs.
type arexMark struct {
	text, written string
	variable      EnvVar
}

// arexCommand is the program, its arguments and the environment so that A-REX
// runs the program with the arguments as they are. Line breaks are an error:
// A-REX drops them from variables, and words after them from arguments.
func (j *Job) arexCommand() (program string, args []string, env []EnvVar, err error) {
	program, args = j.command()
	for _, a := range args {
		if strings.ContainsAny(a, "\r\n") {
			return "", nil, nil, fmt.Errorf("argument %q: A-REX cannot pass a line break on; put it into a file of the InputSandbox", a)
		}
	}
	if err := j.arexNames(); err != nil {
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
	for _, m := range arexMarks {
		if strings.Contains(all, m.text) {
			pairs = append(pairs, m.text, m.written)
			env = append(env, m.variable)
		}
	}
	if pairs == nil {
		return program, args, env, nil
	}
	mark := strings.NewReplacer(pairs...)
	out := make([]string, len(args))
	for i, a := range args {
		out[i] = mark.Replace(a)
	}
	return program, out, env, nil
}

// arexNames checks names that A-REX writes into its job script without quotes,
// and that the directories it redirects into will be there.
func (j *Job) arexNames() error {
	for _, name := range []string{j.Executable, j.StdInput, j.StdOutput, j.StdError} {
		if name != "" && !isDirectiveWord(strings.ReplaceAll(name, "=", "")) {
			return fmt.Errorf("file %q: A-REX can run and redirect only names of letters, digits and . _ - + , : / @ =", name)
		}
	}
	for _, name := range []string{j.StdOutput, j.StdError} {
		dir := path.Dir(name)
		if dir != "." && !slices.ContainsFunc(j.InputSandbox, func(f InputFile) bool { return strings.HasPrefix(f.Name, dir+"/") }) {
			return fmt.Errorf("file %q: A-REX does not make the directory %s for it", name, dir)
		}
	}
	return nil
}

// fromArex is the reverse of arexCommand for arguments and environment.
func fromArex(args []string, env []EnvVar) ([]string, []EnvVar) {
	var pairs []string
	var rest []EnvVar
	for _, v := range env {
		i := slices.IndexFunc(arexMarks, func(m arexMark) bool { return m.variable == v })
		if i < 0 {
			rest = append(rest, v)
			continue
		}
		pairs = append(pairs, arexMarks[i].written, arexMarks[i].text)
	}
	plain := strings.NewReplacer(pairs...)
	out := make([]string, len(args))
	for i, a := range args {
		out[i] = plain.Replace(a)
	}
	return out, rest
}
