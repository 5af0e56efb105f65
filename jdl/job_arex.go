package jdl

import (
	"slices"
	"strings"
)

// A-REX puts each argument into its job script between double quotes, where it
// guards \ and " alone, and word by word for each line (lrms_common.sh and
// submit_common.sh of ARC 6.17 and 7.0): $ and ` would be expanded on the node,
// and lines after the first would lose their first word. They are written as
// variables that hold them, which the shell expands once and no further. A
// newline cannot end a variable's value there, hence the dot that is taken off.
var arexMarks = []arexMark{
	{"$", "${GRID_DOLLAR}", EnvVar{"GRID_DOLLAR", "$"}},
	{"`", "${GRID_BACKQUOTE}", EnvVar{"GRID_BACKQUOTE", "`"}},
	{"\n", "${GRID_NEWLINE%.}", EnvVar{"GRID_NEWLINE", "\n."}},
}

// arexMark is a character, how it is written, and the variable that needs.
type arexMark struct {
	text, written string
	variable      EnvVar
}

// arexCommand is the program, its arguments and the environment so that A-REX
// runs the program with the arguments as they are.
func (j *Job) arexCommand() (program string, args []string, env []EnvVar) {
	program, args = j.command()
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
		return program, args, env
	}
	mark := strings.NewReplacer(pairs...)
	out := make([]string, len(args))
	for i, a := range args {
		out[i] = mark.Replace(a)
	}
	return program, out, env
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
