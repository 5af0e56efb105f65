package cli

import (
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"gridbroker/forecast/managers"
	"gridbroker/jdl"
	"gridbroker/plugins/tree"
)

// handedJob is what a tree of managers finds room for: a command, or a job in JDL.
type handedJob struct {
	need managers.Resources
	argv []string
	jdl  string // where there is no command
}

// exclusive is what is wrong with a command beside a description, or with neither.
func (f *managerRunOptions) exclusive(cmd *cobra.Command, args []string) error {
	if f.description == "" {
		if len(args) == 0 {
			return errors.New("give a command after --, or a description with --jdl")
		}
		return nil
	}
	if len(args) > 0 {
		return errors.New("--jdl and a command: give one of the two")
	}
	for _, name := range []string{"count", "cpus", "gpus", "memory", "time"} {
		if cmd.Flags().Changed(name) {
			return fmt.Errorf("--%s is of a command: with --jdl the description says it", name)
		}
	}
	return nil
}

// toHandIn are the jobs of a command or a description, by names that no other broker gives.
func (f *managerRunOptions) toHandIn(d *deps, argv []string) (map[managers.ID]handedJob, error) {
	var all []handedJob
	if f.description == "" {
		for range min(max(f.count, 0), mostHanded) {
			all = append(all, handedJob{need: f.need, argv: argv})
		}
	} else {
		files, err := readJobs(d, []string{f.description})
		if err != nil {
			return nil, err
		}
		if all, err = f.described(files[0]); err != nil {
			return nil, usageError(fmt.Errorf("%s: %w", f.description, err))
		}
	}
	list, batch := map[managers.ID]handedJob{}, rand.Text()
	for i, h := range all {
		list[managers.ID(batch+"-"+strconv.Itoa(i))] = h
	}
	return list, nil
}

// mostHanded is how many jobs one broker hands in.
const mostHanded = 100_000

// described are the jobs of a description.
func (f *managerRunOptions) described(file jobFile) (all []handedJob, err error) {
	set := file.set
	if set.Kind == jdl.DAG {
		return nil, errors.New("a DAG: the tree knows no order between jobs; submit it, or hand in its nodes one after the other")
	}
	if len(set.Jobs) > mostHanded {
		return nil, fmt.Errorf("%d jobs: at most %d are handed in together", len(set.Jobs), mostHanded)
	}
	for _, j := range set.Jobs {
		h := handedJob{jdl: j.Text()}
		if h.need, err = tree.NeedOf(j, f.tags...); err == nil {
			err = h.need.Check()
		}
		if err != nil {
			return nil, fmt.Errorf("job %s: %w", j.Name, err)
		}
		all = append(all, h)
	}
	return all, nil
}
