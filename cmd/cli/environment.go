package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/pelletier/go-toml/v2"
	"github.com/spf13/cobra"

	"gridbroker/durable"
	"gridbroker/environment"
	"gridbroker/environment/layers"
	"gridbroker/environment/registry"
)

// environmentCmd holds what a site or a user does with the runtime environments of this machine.
func environmentCmd(d *deps) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "env",
		Short: "Runtime environments of this machine: definitions, images, the node's cache",
		Long: `Env works with the runtime environments that jobs ask for by tag: it makes images
and their definitions, runs commands in them as jobs are run, and looks after
the cache of unpacked images. Settings are read from --node.`,
		Example: "  grid env run VEE-Debian11 -- cat /etc/os-release",
	}
	var node string
	cmd.PersistentFlags().StringVar(&node, "node", environment.DefaultNode, "the node's settings, `FILE`")
	open := func() (*environment.Node, error) { return readNode(abs(d, node)) }
	cmd.AddCommand(envListCmd(d, open), envRunCmd(d, open), envBuildCmd(d, open), envImportCmd(d, open), envVerifyCmd(d, open), envGCCmd(d, open),
		envPushCmd(d, open), envShellCmd(d, open))
	return cmd
}

type openNode func() (*environment.Node, error)

// readNode reads a node's settings. That there are none, or that they cannot be meant, is the user's mistake, as with any settings.
func readNode(path string) (*environment.Node, error) {
	n, err := environment.ReadNode(path)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w; they are such as {\"definitions\": \"/etc/grid/environments\", \"cache\": \"/var/cache/grid-environments\"}, and --node names another file", err)
	}
	if err != nil {
		return nil, usageError(fmt.Errorf("the node's settings: %w", err))
	}
	n.Fetch, n.Codec = registry.Client{}.Blobs, layers.Codec{}
	return n, nil
}

// completeTags offers the tags that the node defines: as the first argument or, with each, as every one.
func completeTags(open openNode, each bool) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 && !each {
			return nil, cobra.ShellCompDirectiveDefault
		}
		node, err := open()
		if err != nil {
			return offered(nil)
		}
		catalog, err := node.Catalog()
		if err != nil {
			return offered(nil)
		}
		var out []cobra.Completion
		for _, def := range catalog.All() {
			out = append(out, described(def.Tag, def.Description))
		}
		return offered(out)
	}
}

// launchProgram finds grid-launch: beside this program, else in PATH.
func launchProgram(d *deps) (string, error) {
	if beside := filepath.Join(filepath.Dir(d.env.Exe), "grid-launch"); isProgram(beside) {
		return beside, nil
	}
	for _, dir := range filepath.SplitList(d.env.Getenv("PATH")) {
		if p := filepath.Join(dir, "grid-launch"); filepath.IsAbs(p) && isProgram(p) {
			return p, nil
		}
	}
	return "", fmt.Errorf("grid-launch is neither beside %s nor in PATH: %w", d.env.Exe, exec.ErrNotFound)
}

func isProgram(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

type environmentView struct {
	*environment.Definition
	Cached  bool   `json:"cached"`
	Refused string `json:"refused,omitempty"` // why the node's policy does not allow it
}

func envListCmd(d *deps, open openNode) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the environments of this node", Args: usageArgs(cobra.NoArgs),
		Long:    "List shows every definition of the node: its tag, whether it is cached, and whether the node's policy allows it. What is wrong with a definition is told and makes the exit code 1; the others can be used.",
		Example: "  grid env list --node node.json",
		RunE: func(*cobra.Command, []string) error {
			node, err := open()
			if err != nil {
				return err
			}
			catalog, err := node.Catalog()
			if err != nil {
				return err
			}
			list := []environmentView{}
			for _, def := range catalog.All() {
				v := environmentView{Definition: def, Cached: node.Store().Cached(def.Digest)}
				if err := node.Allow(def); err != nil {
					v.Refused = err.Error()
				}
				list = append(list, v)
			}
			if err := printEnvironments(d, list); err != nil {
				return err
			}
			return catalog.Broken()
		},
	}
}

func printEnvironments(d *deps, list []environmentView) error {
	if d.json {
		return printJSON(d, "env.list", environmentsDocument{list})
	}
	var rows [][]string
	for _, v := range list {
		state := "can be deployed"
		switch {
		case v.Refused != "":
			state = v.Refused
		case v.Cached:
			state = "cached"
		}
		rows = append(rows, []string{v.Tag, state, v.Image, v.Digest[:19], v.Description})
	}
	return table(d, columns("TAG", "STATE", "IMAGE", "DIGEST", "DESCRIPTION"), rows)
}

// defineEnvironment writes the definition of an image that was made.
func defineEnvironment(d *deps, node *environment.Node, def *environment.Definition, replace bool) error {
	path := filepath.Join(node.Definitions, environment.FileOfTag(def.Tag))
	text, err := definitionText(path, def, replace)
	if err != nil {
		return fmt.Errorf("the image is %s of %s; its definition: %w", def.Digest, def.Image, err)
	}
	made, err := environment.Parse(path, text)
	if err != nil {
		return err
	}
	if made.Image != def.Image || made.Digest != def.Digest {
		return fmt.Errorf("%s: write image = %q and digest = %q there yourself", path, def.Image, def.Digest)
	}
	if err := durable.Replace(path, ".new-*", 0o644, text); err != nil {
		return err
	}
	if d.json {
		return printJSON(d, "env.image", imageDocument{def.Tag, def.Image, def.Digest, path})
	}
	sayOut(d, "%s %s\n  %s", def.Tag, def.Digest, path)
	if _, err := os.Lstat(path + ".sig"); err == nil {
		sayErr(d, "its signature is of what it was: ssh-keygen -Y sign -n %s -f KEY %s", environment.SignatureNamespace, path)
	}
	return nil
}

// definitionText is a new definition, or the one that is there with the image in it.
func definitionText(path string, def *environment.Definition, replace bool) ([]byte, error) {
	old, err := os.ReadFile(path)
	switch {
	case err == nil && !replace:
		return nil, fmt.Errorf("%s is there already: --replace puts the image into it", path)
	case err == nil:
		was, err := environment.Parse(path, old)
		if err != nil {
			return nil, err
		}
		values := map[string]string{"image": def.Image, "digest": def.Digest}
		if def.Description != "" {
			values["description"] = def.Description
		}
		return was.Renewed(values), nil
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	return toml.Marshal(struct {
		Tag         string `toml:"tag"`
		Image       string `toml:"image"`
		Digest      string `toml:"digest"`
		Description string `toml:"description,omitempty"`
	}{def.Tag, def.Image, def.Digest, def.Description})
}
