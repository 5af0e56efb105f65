package cli

import (
	_ "embed" // for the template
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"
)

//go:embed jdl_new.jdl
var newJDL string

func jdlNewCmd(d *deps) *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use:   "new [FILE]",
		Short: "Write a commented job description to start from",
		Long: `Writes a job description with the attributes most jobs need and a comment for
each, to FILE or to standard output. A file that is there already stays, unless
--force is given.`,
		Example: `  grid jdl new job.jdl
  grid jdl new | grid jdl check --no-files -`,
		Args: usageArgs(cobra.MaximumNArgs(1)),
	}
	cmd.Flags().BoolVar(&force, "force", false, "replace FILE")
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		if len(args) == 0 || args[0] == "-" {
			return printText(d, "jdl.new", "jdl", newJDL)
		}
		return runNew(d, args[0], force)
	}
	return cmd
}

func runNew(d *deps, name string, force bool) error {
	path := abs(d, name)
	var err error
	if force {
		err = writeWhole(path, []byte(newJDL), 0o644)
	} else {
		err = writeNew(path, newJDL, 0o644)
	}
	switch e, _ := errors.AsType[*fs.PathError](err); {
	case errors.Is(err, fs.ErrExist):
		return usageError(fmt.Errorf("%s is there already; --force replaces it", name))
	case e != nil && e.Op == "open":
		return usageError(err)
	case err != nil || !d.json:
		return err
	}
	return printJSON(d, "jdl.new", textDocument{Language: "jdl", Files: []string{path}})
}
