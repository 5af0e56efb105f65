package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"gridbroker/environment"
	"gridbroker/environment/layers"
	"gridbroker/environment/registry"
)

// imageOptions are those of the verbs that make an image and its definition.
type imageOptions struct {
	tag, layout, description string
	replace                  bool
}

func (f *imageOptions) add(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVar(&f.tag, "tag", "", "`TAG` that the definition is for")
	fl.StringVar(&f.layout, "layout", "", "OCI layout `DIR` for the image (default: images in the folder of definitions)")
	fl.StringVar(&f.description, "description", "", "`TEXT` that is published with the tag")
	fl.BoolVar(&f.replace, "replace", false, "put the image into the definition that the tag has")
}

// place opens the node and the layout that an image goes to.
func (f *imageOptions) place(a *deps, open openNode) (*environment.Node, environment.Layout, error) {
	node, err := open()
	if err != nil {
		return nil, environment.Layout{}, err
	}
	if err := environment.CheckTag(f.tag); err != nil {
		return nil, environment.Layout{}, usageError(fmt.Errorf("--tag: %w", err))
	}
	path := filepath.Join(node.Definitions, environment.FileOfTag(f.tag)) // before an image is made for nothing
	if _, err := definitionText(path, &environment.Definition{Tag: f.tag}, f.replace); err != nil {
		return nil, environment.Layout{}, err
	}
	if f.layout != "" {
		return node, environment.Layout{Dir: abs(a, f.layout), Codec: layers.Codec{}}, nil
	}
	return node, environment.Layout{Dir: filepath.Join(node.Definitions, "images"), Codec: layers.Codec{}}, nil
}

func (f *imageOptions) define(a *deps, node *environment.Node, l environment.Layout, digest string) error {
	return defineEnvironment(a, node, &environment.Definition{
		Tag: f.tag, Image: "oci:" + l.Dir, Digest: digest, Description: f.description,
	}, f.replace)
}

func envBuildCmd(d *deps, open openNode) *cobra.Command {
	var f imageOptions
	cmd := &cobra.Command{
		Use:   "build TREE",
		Short: "Make an image and its definition of a folder or a tar archive",
		Long: `Build makes an OCI image with one zstd layer of a folder, such as debootstrap
makes, or of a tar archive (plain, gzip, zstd), and writes the definition of a
tag that names it by digest. The same tree gives the same digest.`,
		Example: `  debootstrap --variant=minbase bullseye tree
  grid env build tree --tag VEE-Debian11`,
		Args: usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			node, l, err := f.place(d, open)
			if err != nil {
				return err
			}
			info, err := os.Stat(abs(d, args[0]))
			if err != nil {
				return err
			}
			var digest string
			if info.IsDir() {
				digest, err = l.Build(cmd.Context(), abs(d, args[0]))
			} else {
				digest, err = l.BuildArchive(cmd.Context(), abs(d, args[0]))
			}
			if err != nil {
				return err
			}
			return f.define(d, node, l, digest)
		},
	}
	f.add(cmd)
	return cmd
}

func envImportCmd(d *deps, open openNode) *cobra.Command {
	var f imageOptions
	cmd := &cobra.Command{
		Use:   "import IMAGE@DIGEST",
		Short: "Copy an image from a registry or layout, and define a tag for it",
		Long: `Import copies an image by its digest from a registry (docker://HOST/NAME, with the
credentials of ~/.docker/config.json) or from an OCI layout (oci:DIR), checks
every blob, and writes the definition of a tag that names it by digest.`,
		Example: "  grid env import docker://registry.example.org/hep/analysis@sha256:... --tag VEE-Analysis",
		Args:    usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			node, l, err := f.place(d, open)
			if err != nil {
				return err
			}
			image, digest, ok := strings.Cut(args[0], "@")
			if !ok {
				return usageError(fmt.Errorf("%s: an image is imported by its digest: IMAGE@sha256:DIGEST", args[0]))
			}
			if dir, ok := strings.CutPrefix(image, "oci:"); ok {
				image = "oci:" + abs(d, dir)
			}
			if digest, err = l.Import(cmd.Context(), image, digest, registry.Client{}.Blobs); err != nil {
				return err
			}
			return f.define(d, node, l, digest)
		},
	}
	f.add(cmd)
	return cmd
}
