package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"gridbroker/environment/registry"
)

func envPushCmd(d *deps, open openNode) *cobra.Command {
	return &cobra.Command{
		Use:   "push TAG docker://HOST/NAME",
		Short: "Copy a tag's image to a registry",
		Long: `Push copies the image of a tag, which lies in an OCI layout, to a registry, with the
credentials of ~/.docker/config.json, and prints what other sites import: the
image by its digest. Blobs that the registry has are not sent again.`,
		Example: "  grid env push VEE-Debian11 docker://registry.example.org/site/debian11",
		Args:    usageArgs(cobra.ExactArgs(2)), ValidArgsFunction: completeTags(open, false),
		RunE: func(cmd *cobra.Command, args []string) error {
			place, ok := strings.CutPrefix(args[1], "docker://")
			if !ok {
				return usageError(fmt.Errorf("%s: want docker://HOST/NAME", args[1]))
			}
			node, err := open()
			if err != nil {
				return err
			}
			def, err := node.Definition(args[0])
			if err != nil {
				return err
			}
			dir, ok := strings.CutPrefix(def.Image, "oci:")
			if !ok {
				return fmt.Errorf("%s: its image is %s: only one of an OCI layout (oci:DIR) is pushed", def.Tag, def.Image)
			}
			if err := (registry.Client{}).Push(cmd.Context(), dir, def.Digest, place); err != nil {
				return err
			}
			if d.json {
				return printJSON(d, "env.push", pushDocument{def.Tag, args[1], def.Digest})
			}
			sayOut(d, "%s@%s", args[1], def.Digest)
			return nil
		},
	}
}
