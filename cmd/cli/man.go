package cli

import (
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// manCmd writes the man pages, made from the same texts as --help.
func manCmd(d *deps) *cobra.Command {
	return &cobra.Command{
		Use: "man DIR", Short: "Write the man pages of all verbs into a directory",
		Example: "  grid man /usr/local/share/man/man1",
		Args:    usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			dir := abs(d, args[0])
			if err := os.MkdirAll(dir, 0o755); err != nil {
				return err
			}
			root := cmd.Root()
			root.DisableAutoGenTag = true
			return doc.GenManTree(root, &doc.GenManHeader{Section: "1", Source: "grid " + version(), Manual: "Grid"}, dir)
		},
	}
}
