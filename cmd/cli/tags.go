package cli

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gridbroker/environment"
	"gridbroker/environment/layers"
	"gridbroker/environment/registry"
	"gridbroker/environment/tags"
)

// tagOptions are shared by the verbs of grid tags.
type tagOptions struct{ store, vo, node string }

func tagsCmd(d *deps) *cobra.Command {
	f := &tagOptions{}
	cmd := &cobra.Command{
		Use:   "tags",
		Short: "Tags of software and environments that a site publishes",
		Long: `Tags keeps what a site publishes as runtime environments: its own and those of VOs,
which begin with VO-<vo>-. Who may change them is in writers.toml of the store;
root and the store's owner always may. Every change is kept.`,
		Example: `  grid tags add VEE-Debian11 --store /var/lib/grid/tags
  grid tags publish glue1 --subcluster GlueSubClusterUniqueID=ce,...`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	fl := cmd.PersistentFlags()
	fl.StringVar(&f.store, "store", "/var/lib/grid/tags", "`DIR` of the tags")
	fl.StringVar(&f.vo, "vo", "", "tags of this `VO` instead of the site's")
	fl.StringVar(&f.node, "node", environment.DefaultNode, "settings of a node that has the environments, `FILE`")
	cmd.AddCommand(tagsAddCmd(d, f), tagsRemoveCmd(d, f), tagsListCmd(d, f), tagsHistoryCmd(d, f), tagsValidateCmd(d, f), tagsPublishCmd(d, f))
	return cmd
}

func tagStore(d *deps, f *tagOptions) *tags.Store {
	return &tags.Store{Dir: abs(d, f.store), Now: d.env.Now}
}

// caller is the user of this process, by the kernel's word.
func tagCaller(d *deps) (tags.Caller, error) {
	c := tags.Caller{User: strconv.Itoa(d.env.UID), UID: d.env.UID}
	if u, err := user.LookupId(c.User); err == nil {
		c.User = u.Username
	}
	ids, err := os.Getgroups()
	if err != nil {
		return c, err
	}
	for _, id := range append(ids, os.Getegid()) {
		if g, err := user.LookupGroupId(strconv.Itoa(id)); err == nil {
			c.Groups = append(c.Groups, g.Name)
		}
	}
	return c, nil
}

func tagsAddCmd(d *deps, f *tagOptions) *cobra.Command {
	var state string
	cmd := &cobra.Command{
		Use: "add TAG...", Short: "Publish tags", Args: usageArgs(cobra.MinimumNArgs(1)),
		Long: `Add publishes tags, all of them or none. What the node's settings define is
published as installable, with its image, licence and description; anything else
as installednotverified, or as --state says.`,
		Example: "  grid tags add VO-cms-CMSSW_14_0_0 --vo cms",
		RunE: func(_ *cobra.Command, names []string) error {
			c, err := tagCaller(d)
			if err != nil {
				return err
			}
			node, err := environment.ReadNode(abs(d, f.node))
			if err != nil && !errors.Is(err, os.ErrNotExist) {
				return err
			}
			list := make([]tags.Tag, len(names))
			for i, name := range names {
				list[i] = describe(node, name)
				undefined(d, node, f.node, name)
				if state != "" {
					list[i].State = tags.State(state)
				}
			}
			return tagsChanged(d, "add", f.vo, names, tagStore(d, f).Add(c, f.vo, list))
		},
	}
	cmd.Flags().StringVar(&state, "state", "", "publish in this `STATE` of GLUE 2.0")
	return cmd
}

// undefined warns of an environment's tag that the node has no definition of: jobs that are sent there would fail.
func undefined(d *deps, node *environment.Node, file, name string) {
	if node == nil || len(name) < 4 || !strings.EqualFold(name[:4], "VEE-") || environment.SameTag(name, environment.UserImageTag) {
		return
	}
	var unknown *environment.UnknownTagError
	if _, err := node.Definition(name); errors.As(err, &unknown) {
		fmt.Fprintf(d.env.Err, "%s: %v, which %s names: it is published as software that is there\n", name, err, file)
	}
}

// describe is a tag with what a node knows of its environment.
func describe(node *environment.Node, name string) tags.Tag {
	t := tags.Tag{Name: name, State: tags.InstalledNotVerified}
	if node == nil {
		return t
	}
	if d, err := node.Definition(name); err == nil {
		t.State, t.Digest, t.Description, t.License = tags.Installable, d.Digest, d.Description, d.License
		if strings.HasPrefix(d.Image, "docker://") {
			t.Repository = d.Image // a path of the node tells nobody else anything
		}
	}
	return t
}

// tagsChanged is how a change of tags ends: with a document for machines, else without a word.
func tagsChanged(d *deps, change, vo string, names []string, err error) error {
	if _, bad := errors.AsType[*environment.TagError](err); bad {
		return usageError(err)
	}
	if err != nil || !d.json {
		return err
	}
	return printJSON(d, "tags.change", tagsChangeDocument{change, vo, names})
}

func tagsRemoveCmd(d *deps, f *tagOptions) *cobra.Command {
	return &cobra.Command{
		Use: "remove TAG...", Short: "Take tags back", Args: usageArgs(cobra.MinimumNArgs(1)),
		Long:    "Remove takes tags back, all of them or none: one that is not published is an error.",
		Example: "  grid tags remove VEE-Debian10",
		RunE: func(_ *cobra.Command, names []string) error {
			c, err := tagCaller(d)
			if err != nil {
				return err
			}
			return tagsChanged(d, "remove", f.vo, names, tagStore(d, f).Remove(c, f.vo, names))
		},
	}
}

func tagsListCmd(d *deps, f *tagOptions) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the published tags", Args: usageArgs(cobra.NoArgs),
		Long: "List shows the tags of the site and of every VO, with their state.", Example: "  grid tags list",
		RunE: func(*cobra.Command, []string) error {
			list, err := tagStore(d, f).All()
			if err != nil {
				return err
			}
			if d.json {
				return printJSON(d, "tags.list", tagsDocument{list})
			}
			var rows [][]string
			for _, t := range list {
				rows = append(rows, []string{t.Name, string(t.State), t.By, t.Added.Format(time.DateTime), t.Description})
			}
			return table(d, columns("TAG", "STATE", "BY", "ADDED", "DESCRIPTION"), rows)
		},
	}
}

func tagsHistoryCmd(d *deps, f *tagOptions) *cobra.Command {
	return &cobra.Command{
		Use: "history", Short: "Show who changed which tags and when", Args: usageArgs(cobra.NoArgs),
		Long: "History shows every change of the store, the first one first.", Example: "  grid tags history",
		RunE: func(*cobra.Command, []string) error {
			list, err := tagStore(d, f).History()
			if err != nil {
				return err
			}
			if d.json {
				return printJSON(d, "tags.history", changesDocument{list})
			}
			var rows [][]string
			for _, c := range list {
				rows = append(rows, []string{c.At.Format(time.DateTime), c.By, c.VO, c.Verb, strings.Join(c.Tags, " ")})
			}
			return table(d, columns("AT", "BY", "VO", "CHANGE", "TAGS"), rows)
		},
	}
}

func tagsValidateCmd(d *deps, f *tagOptions) *cobra.Command {
	return &cobra.Command{
		Use: "validate TAG", Short: "Run an environment's own test and publish what it showed", Args: usageArgs(cobra.ExactArgs(1)),
		Long: `Validate deploys the environment of a tag on this machine and runs the test that
its definition names. The tag's state becomes installedverified, or
installedbroken where the test failed; where the environment could not be made
here the state stays.`,
		Example: "  grid tags validate VEE-Debian11",
		RunE:    func(_ *cobra.Command, names []string) error { return runTagsValidate(d, f, names[0]) },
	}
}

func runTagsValidate(d *deps, f *tagOptions, name string) error {
	c, err := tagCaller(d)
	if err != nil {
		return err
	}
	node, err := environment.ReadNode(abs(d, f.node))
	if err != nil {
		return err
	}
	node.Fetch, node.Codec = registry.Client{}.Blobs, layers.Codec{}
	def, err := node.Definition(name)
	if err != nil {
		return err
	}
	if len(def.Test) == 0 {
		return fmt.Errorf("%s: the definition names no test, such as test = [\"/bin/sh\", \"-c\", \"grep -q bullseye /etc/os-release\"]", def.File)
	}
	if node.Program, err = launchProgram(d); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "grid-validate")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	job := &environment.Job{Definition: def, Argv: def.Test, Sandbox: environment.Sandbox{Dir: dir}}
	code, err := node.Supervise(job, nil, os.Stderr, os.Stderr)
	if err != nil && code == environment.ExitNotDeployed {
		return err
	}
	state := tags.InstalledVerified
	if code != 0 {
		state = tags.InstalledBroken
	}
	if err := tagStore(d, f).SetState(c, f.vo, name, state); err != nil {
		return err
	}
	if d.json {
		err = tagsChanged(d, string(state), f.vo, []string{name}, nil)
	} else {
		_, err = fmt.Fprintf(d.env.Out, "%s is %s\n", name, state)
	}
	if err != nil {
		return err
	}
	if code != 0 {
		return fmt.Errorf("the test of %s ended with exit code %d", name, code)
	}
	return nil
}
