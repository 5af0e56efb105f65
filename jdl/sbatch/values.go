package sbatch

import (
	"slices"
	"strings"

	"gridbroker/jdl/classad"
)

// notEmpty are options which sbatch does not take without a value: `--mem=` is what a template leaves where a variable of it is
// not set.
var notEmpty = []string{"mem", "mem-per-cpu", "mem-per-gpu", "tmp", "time", "ntasks", "ntasks-per-node", "cpus-per-task", "nodes", "gres", "partition"}

// oneOf are options whose values are words.
var oneOf = []struct {
	name  string
	words []string
}{
	{"exclusive", []string{"", "user", "mcs", "topo"}},
	{"open-mode", []string{"append", "truncate", "a", "t"}},
	{"kill-on-invalid-dep", []string{"yes", "no"}},
}

// refused says of values that sbatch does not take, where nothing else here would look at them.
func refused(r *reader) {
	for _, name := range notEmpty {
		if o, given := r.seen[name]; given && strings.TrimSpace(o.value) == "" {
			r.fail(o.pos, "--%s= has no value", name)
		}
	}
	for _, option := range oneOf {
		o, given := r.seen[option.name]
		if given && !slices.Contains(option.words, classad.Fold(o.value)) {
			r.fail(o.pos, "--%s=%s: it is %s", option.name, o.value, strings.Join(slices.DeleteFunc(slices.Clone(option.words), tiny), " or "))
		}
	}
}

// tiny are words that need not be told.
func tiny(word string) bool { return len(word) < 2 }
