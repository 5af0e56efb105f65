package cli

import (
	"github.com/spf13/cobra"

	"gridbroker/environment"
)

func envShellCmd(d *deps, open openNode) *cobra.Command {
	var sandbox string
	cmd := &cobra.Command{
		Use:   "shell TAG",
		Short: "Look around in an environment with its own shell",
		Long: `Shell runs the environment's /bin/sh, seeing what a job sees, with --sandbox as its
working directory. It has no terminal of its own, as jobs have none: keys that
send signals act on the whole of it.`,
		Example: "  grid env shell VEE-Debian11",
		Args:    usageArgs(cobra.ExactArgs(1)), ValidArgsFunction: completeTags(open, false),
		RunE: func(_ *cobra.Command, args []string) error {
			job := &environment.Job{Argv: []string{"/bin/sh", "-i"}}
			var err error
			if job.Sandbox.Dir, err = openSandbox(d, sandbox); err != nil {
				return err
			}
			node, err := wanted(d, open, job, args[0], "")
			if err != nil {
				return err
			}
			return runEnvironment(d, node, job)
		},
	}
	cmd.Flags().StringVar(&sandbox, "sandbox", ".", "`DIR` that the shell sees as its working directory")
	return cmd
}
