package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/pelletier/go-toml/v2"
	"github.com/spf13/cobra"

	"gridbroker/environment"
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
		Args:    usageArgs(cobra.NoArgs),
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	var node string
	cmd.PersistentFlags().StringVar(&node, "node", environment.DefaultNode, "the node's settings, `FILE`")
	open := func() (*environment.Node, error) {
		n, err := environment.ReadNode(abs(d, node))
		if err != nil {
			return nil, fmt.Errorf("the node's settings: %w", err)
		}
		n.Fetch = registry.Client{}.Blobs
		return n, nil
	}
	cmd.AddCommand(envListCmd(d, open), envRunCmd(d, open), envBuildCmd(d, open), envImportCmd(d, open), envVerifyCmd(d, open), envGCCmd(d, open),
		envPushCmd(d, open), envShellCmd(d, open))
	return cmd
}

type openNode func() (*environment.Node, error)

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
		Long:    "List shows every definition of the node: its tag, whether it is cached, and whether the node's policy allows it.",
		Example: "  grid env list --node node.json",
		RunE: func(*cobra.Command, []string) error {
			node, err := open()
			if err != nil {
				return err
			}
			catalog, err := environment.ReadCatalog(node.Definitions)
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
			return printEnvironments(d, list)
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

// define writes the definition of an image that was made.
func defineEnvironment(d *deps, node *environment.Node, def *environment.Definition, replace bool) error {
	text, err := toml.Marshal(struct {
		Tag         string `toml:"tag"`
		Image       string `toml:"image"`
		Digest      string `toml:"digest"`
		Description string `toml:"description,omitempty"`
	}{def.Tag, def.Image, def.Digest, def.Description})
	if err != nil {
		return err
	}
	path := filepath.Join(node.Definitions, environment.FileOfTag(def.Tag))
	if _, err := environment.Parse(path, text); err != nil {
		return err
	}
	how := os.O_CREATE | os.O_WRONLY | os.O_EXCL
	if replace {
		how = os.O_CREATE | os.O_WRONLY | os.O_TRUNC
	}
	f, err := os.OpenFile(path, how, 0o644)
	if err != nil {
		return fmt.Errorf("the image is %s of %s; its definition: %w", def.Digest, def.Image, err)
	}
	_, err = f.Write(text)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	if d.json {
		return printJSON(d, "env.image", imageDocument{def.Tag, def.Image, def.Digest, path})
	}
	fmt.Fprintf(d.env.Out, "%s %s\n  %s\n", def.Tag, def.Digest, path)
	return nil
}
