package sbatch

import (
	"fmt"
	"slices"
	"strings"

	"gridbroker/jdl/classad"
)

// Looks reports whether a text is a script for Slurm: it begins with #! and
// has a line of options.
func Looks(src []byte) bool {
	if !strings.HasPrefix(string(src[:min(len(src), 2)]), "#!") {
		return false
	}
	for line := range strings.Lines(string(src[:min(len(src), 1<<20)])) {
		if isOptions(line) {
			return true
		}
	}
	return false
}

// mark begins a line of options, whatever follows it.
const mark = "#SBATCH"

// isOptions reports whether sbatch looks for options in a line.
func isOptions(line string) bool { return strings.HasPrefix(line, mark) }

// option is one option of a script, by its long name.
type option struct {
	name, value string
	pos         classad.Pos
}

// shorts are the long names of sbatch's short options that have a value.
var shorts = map[byte]string{
	'A': "account", 'a': "array", 'b': "begin", 'B': "extra-node-info", 'C': "constraint", 'c': "cpus-per-task", 'd': "dependency", 'D': "chdir",
	'e': "error", 'F': "nodefile", 'G': "gpus", 'i': "input", 'J': "job-name", 'L': "licenses", 'm': "distribution", 'M': "clusters", 'N': "nodes",
	'n': "ntasks", 'o': "output", 'p': "partition", 'q': "qos", 'S': "core-spec", 't': "time", 'w': "nodelist", 'x': "exclude",
}

// flags are the options without a value, short ones by their long name.
var flags = map[string]string{
	"H": "hold", "h": "help", "I": "immediate", "k": "no-kill", "O": "overcommit", "Q": "quiet", "s": "oversubscribe", "v": "verbose", "W": "wait",
	"contiguous": "", "hold": "", "ignore-pbs": "", "no-requeue": "", "overcommit": "", "parsable": "", "quiet": "", "reboot": "", "requeue": "",
	"spread-job": "", "test-only": "", "use-min-nodes": "", "verbose": "", "wait": "", "exclusive": "", "oversubscribe": "", "propagate": "",
	"get-user-env": "", "no-kill": "", "nice": "", "share": "", "immediate": "", "resv-ports": "", "external": "", "help": "", "usage": "", "wrap": "",
}

// others are the options with a value that have no short name.
var others = []string{"acctg-freq", "batch", "bb", "bbf", "cluster-constraint", "comment", "consolidate-segments", "container", "container-id",
	"cores-per-socket", "cpu-freq", "cpus-per-gpu", "deadline", "delay-boot", "export", "export-file", "gid", "gpu-bind", "gpu-freq", "gpus-per-node",
	"gpus-per-socket", "gpus-per-task", "gres", "gres-flags", "hint", "kill-on-invalid-dep", "mail-type", "mail-user", "mcs-label", "mem", "mem-bind",
	"mem-per-cpu", "mem-per-gpu", "mincpus", "network", "ntasks-per-core", "ntasks-per-gpu", "ntasks-per-node", "ntasks-per-socket", "ntasks-per-tres",
	"oom-kill-step", "open-mode", "power", "prefer", "priority", "profile", "reservation", "segment", "signal", "sockets-per-node", "stepmgr", "switches",
	"tasks-per-node", "thread-spec", "threads-per-core", "time-min", "tmp", "tres-bind", "tres-per-job", "tres-per-node", "tres-per-task", "uid", "wckey"}

// longNames are all options of sbatch.
func longNames() []string {
	names := slices.Clone(others)
	for name := range flags {
		if len(name) > 1 {
			names = append(names, name)
		}
	}
	for _, name := range shorts {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// whole is the name that a beginning of one stands for, as getopt takes it, and
// the name itself where sbatch does not have it. What it would refuse, because it is
// the beginning of several or nearly a name, is an error.
func whole(name string, all []string) (full string, err error) {
	var begun []string
	for _, known := range all {
		if known == name {
			return name, nil
		}
		if name != "" && strings.HasPrefix(known, name) {
			begun = append(begun, known)
		}
	}
	hint := classad.DidYouMean(name, all)
	switch {
	case len(begun) == 1:
		return begun[0], nil
	case len(begun) > 1:
		return name, fmt.Errorf("--%s is the beginning of several options: %s", name, strings.Join(begun, ", "))
	case hint != "":
		return name, fmt.Errorf("sbatch has no option --%s (%s)", name, hint)
	}
	return name, nil
}

// script is a text taken apart: the options that sbatch reads, which stand above
// the first command.
type script struct {
	names   []string // of the options that there are
	options []option
	ignored []classad.Pos // lines of options that sbatch does not read
	cut     []classad.Pos // comments that begin in the middle of a word
	equals  []option      // short ones with a = before their value, by the word
	body    []line        // the commands
}

type line struct {
	text string
	pos  classad.Pos
}

// parse takes a script apart. The error is that of a line of options which sbatch
// would refuse.
func parse(src string) (script, error) {
	s := script{names: longNames()}
	n := 0
	for text := range strings.Lines(src) {
		n++
		text = strings.TrimRight(text, "\r\n")
		at := classad.Pos{Line: n, Col: 1}
		switch trimmed := strings.TrimSpace(text); {
		case isOptions(text) && len(s.body) > 0:
			s.ignored = append(s.ignored, at)
		case isOptions(text):
			if err := s.take(text, n); err != nil {
				return s, err
			}
		case trimmed != "" && trimmed[0] != '#':
			s.body = append(s.body, line{text, at})
		}
	}
	return s, nil
}

// optionError is what is wrong with an option, and where.
type optionError struct {
	pos classad.Pos
	msg string
}

func (e *optionError) Error() string { return e.msg }

// take reads the options of one line.
func (s *script) take(text string, n int) error {
	words, err := s.directives(text, n)
	if err != nil {
		return err
	}
	for i := 0; i < len(words); i++ {
		found, needs, err := named(words[i], s.names)
		if err != nil {
			return err
		}
		if needs {
			o := &found[len(found)-1]
			if i++; i >= len(words) {
				return &optionError{o.pos, "--" + o.name + " wants a value"}
			}
			o.value = words[i].value
		}
		if w := words[i]; !needs && len(w.value) > 3 && w.value[0] == '-' && w.value[1] != '-' && w.value[2] == '=' {
			s.equals = append(s.equals, option{w.value[:2], w.value[3:], w.pos})
		}
		s.options = append(s.options, found...)
	}
	return nil
}

// named reads the name of an option, or of several short ones, and whether the
// value of the last is the next word.
func named(w option, all []string) (found []option, needsValue bool, err error) {
	word := w.value
	switch {
	case strings.HasPrefix(word, "--"):
		name, value, has := strings.Cut(word[2:], "=")
		if name, err = whole(name, all); err != nil {
			return nil, false, &optionError{w.pos, err.Error()}
		}
		if name == "tasks-per-node" { // which sbatch takes, and its manual has not
			name = "ntasks-per-node"
		}
		_, flag := flags[name]
		return []option{{name, value, w.pos}}, !has && !flag && slices.Contains(all, name), nil
	case strings.HasPrefix(word, "-") && len(word) > 1:
		for i := 1; i < len(word); i++ {
			if name := shorts[word[i]]; name != "" {
				return append(found, option{name, strings.TrimPrefix(word[i+1:], "="), w.pos}), i+1 == len(word), nil
			}
			name := flags[word[i:i+1]]
			if name == "" {
				return nil, false, &optionError{w.pos, fmt.Sprintf("%q is no option of sbatch", word)}
			}
			found = append(found, option{name, "", w.pos})
		}
		return found, false, nil
	case word == "hetjob" || word == "packjob":
		return nil, false, &optionError{w.pos, word + ": heterogeneous jobs are not supported: describe a collection"}
	}
	return nil, false, &optionError{w.pos, fmt.Sprintf("%q is no option of sbatch", word)}
}

// directives parts a line of options at blanks; a # outside of quotes ends it.
func (s *script) directives(text string, n int) (words []option, err error) {
	for at := len(mark); ; {
		at = len(text) - len(strings.TrimLeft(text[at:], " \t"))
		if at == len(text) || text[at] == '#' {
			return words, nil
		}
		value, size, closed := directive(text[at:])
		pos := classad.Pos{Line: n, Col: at + 1}
		if !closed {
			return nil, &optionError{pos, "the quote is not closed"}
		}
		words = append(words, option{value: value, pos: pos})
		if at += size; at < len(text) && text[at] == '#' {
			s.cut = append(s.cut, classad.Pos{Line: n, Col: at + 1})
		}
	}
}

// directive is the first word of a text without quotes and backslashes, how long it is with them, and whether its quotes are
// closed. As for sbatch a backslash keeps what stands behind it, in both kinds of quotes, too.
func directive(text string) (value string, size int, closed bool) {
	var b strings.Builder
	quote := byte(0)
	for ; size < len(text); size++ {
		switch c := text[size]; {
		case c == '\\':
			if size++; size < len(text) {
				b.WriteByte(text[size])
			}
		case quote == 0 && strings.IndexByte(" \t#", c) >= 0:
			return b.String(), size, true
		case quote == 0 && (c == '"' || c == '\''):
			quote = c
		case c == quote:
			quote = 0
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), min(size, len(text)), quote == 0
}
