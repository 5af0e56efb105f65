package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"gridbroker/jdl"
)

func jdlCmd(d *deps) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "jdl",
		Short: "Write, check, evaluate and convert job descriptions",
	}
	cmd.AddCommand(jdlCheckCmd(d), jdlConvertCmd(d), jdlEvalCmd(d), jdlNewCmd(d))
	return cmd
}

// dialectFlag adds --dialect to a command.
func dialectFlag(cmd *cobra.Command) *string {
	return cmd.Flags().String("dialect", "any", "read JDL as `glite` or dirac, or judge by its attributes (any)")
}

func parseDialect(name string) (jdl.Dialect, error) {
	for _, d := range []jdl.Dialect{jdl.AnyDialect, jdl.GLite, jdl.DIRAC} {
		if d.String() == name {
			return d, nil
		}
	}
	return 0, usageError(fmt.Errorf("--dialect %s: it is glite, dirac or any", name))
}
