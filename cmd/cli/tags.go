package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gridbroker/durable"
	"gridbroker/environment"
	"gridbroker/environment/layers"
	"gridbroker/environment/registry"
	"gridbroker/environment/tags"
)

// tagOptions are shared by the verbs of grid tags.
type tagOptions struct{ store, vo, node string }

// What --vo means to verbs that change tags, and to those that show them.
const (
	voInstead = "tags of this `VO` instead of the site's"
	voAlone   = "those of this `VO` alone"
)

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
	}
	fl := cmd.PersistentFlags()
	fl.StringVar(&f.store, "store", "/var/lib/grid/tags", "`DIR` of the tags")
	fl.StringVar(&f.node, "node", environment.DefaultNode, "settings of a node that has the environments, `FILE`")
	cmd.AddCommand(tagsAddCmd(d, f), tagsRemoveCmd(d, f), tagsListCmd(d, f), tagsHistoryCmd(d, f), tagsValidateCmd(d, f), tagsPublishCmd(d, f))
	return cmd
}

// ofVO gives a verb the flag --vo.
func (f *tagOptions) ofVO(cmd *cobra.Command, usage string) *cobra.Command {
	cmd.Flags().StringVar(&f.vo, "vo", "", usage)
	return cmd
}

// completePublished offers the tags of the store.
func completePublished(d *deps, f *tagOptions) cobra.CompletionFunc {
	return func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
		list, _ := listedTags(d, f) // what cannot be read is not offered
		var out []cobra.Completion
		for _, t := range list {
			out = append(out, described(t.Name, t.Description))
		}
		return offered(out)
	}
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
		ValidArgsFunction: completeTags(func() (*environment.Node, error) { return environment.ReadNode(abs(d, f.node)) }, true),
		Long: `Add publishes tags, all of them or none. What the node's settings define is
published as installable, with its image, licence and description; anything else
as installednotverified, or as --state says.`,
		Example: "  grid tags add VO-cms-CMSSW_14_0_0 --vo cms",
		RunE: func(cmd *cobra.Command, names []string) error {
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
			return tagsChanged(d, "add", f.vo, names, tagStore(d, f).Add(cmd.Context(), c, f.vo, list))
		},
	}
	cmd.Flags().StringVar(&state, "state", "", "publish in this `STATE` of GLUE 2.0: "+strings.Join(tagStates(), ", "))
	return f.ofVO(cmd, voInstead)
}

// undefined warns of an environment's tag that the node has no definition of: jobs that are sent there would fail.
func undefined(d *deps, node *environment.Node, file, name string) {
	if node == nil || len(name) < 4 || !strings.EqualFold(name[:4], "VEE-") || environment.SameTag(name, environment.UserImageTag) {
		return
	}
	var unknown *environment.UnknownTagError
	if _, err := node.Definition(name); errors.As(err, &unknown) {
		sayErr(d, "%s: %v, which %s names: it is published as software that is there", name, err, file)
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

// tagsMistake makes what nobody could publish or ask for a mistake on the command line.
func tagsMistake(err error) error {
	_, tag := errors.AsType[*environment.TagError](err)
	_, state := errors.AsType[*tags.StateError](err)
	if _, vo := errors.AsType[*tags.VOError](err); tag || state || vo {
		return usageError(err)
	}
	if _, none := errors.AsType[*tags.MissingError](err); none {
		return usageError(fmt.Errorf("%w: --store names another, grid tags add makes one", err))
	}
	return err
}

// tagsChanged is how a change of tags ends: with a document for machines, else without a word.
func tagsChanged(d *deps, change, vo string, names []string, err error) error {
	if err != nil || !d.json {
		return tagsMistake(err)
	}
	return printJSON(d, "tags.change", tagsChangeDocument{change, vo, names})
}

func tagsRemoveCmd(d *deps, f *tagOptions) *cobra.Command {
	return f.ofVO(&cobra.Command{
		Use: "remove TAG...", Short: "Take tags back", Args: usageArgs(cobra.MinimumNArgs(1)),
		ValidArgsFunction: completePublished(d, f),
		Long:              "Remove takes tags back, all of them or none: one that is not published is an error.",
		Example:           "  grid tags remove VEE-Debian10",
		RunE: func(cmd *cobra.Command, names []string) error {
			c, err := tagCaller(d)
			if err != nil {
				return err
			}
			return tagsChanged(d, "remove", f.vo, names, tagStore(d, f).Remove(cmd.Context(), c, f.vo, names))
		},
	}, voInstead)
}

func tagsListCmd(d *deps, f *tagOptions) *cobra.Command {
	return f.ofVO(&cobra.Command{
		Use: "list", Short: "List the published tags", Args: usageArgs(cobra.NoArgs),
		Long: "List shows the tags of the site and of every VO, with their state.", Example: "  grid tags list",
		RunE: func(*cobra.Command, []string) error {
			list, err := listedTags(d, f)
			if err != nil {
				return tagsMistake(err)
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
	}, voAlone)
}

// listedTags are those of the VO that was asked for, else all.
func listedTags(d *deps, f *tagOptions) ([]tags.Tag, error) {
	if f.vo != "" {
		return tagStore(d, f).Tags(f.vo)
	}
	return tagStore(d, f).All()
}

func tagsHistoryCmd(d *deps, f *tagOptions) *cobra.Command {
	return f.ofVO(&cobra.Command{
		Use: "history", Short: "Show who changed which tags and when", Args: usageArgs(cobra.NoArgs),
		Long: "History shows every change of the store, the first one first.", Example: "  grid tags history",
		RunE: func(*cobra.Command, []string) error {
			list, err := tagStore(d, f).History()
			if err != nil {
				return tagsMistake(err)
			}
			list = slices.DeleteFunc(list, func(c tags.Change) bool { return f.vo != "" && c.VO != f.vo })
			if d.json {
				return printJSON(d, "tags.history", changesDocument{list})
			}
			var rows [][]string
			for _, c := range list {
				rows = append(rows, []string{c.At.Format(time.DateTime), c.By, c.VO, c.Verb, strings.Join(c.Tags, " ")})
			}
			return table(d, columns("AT", "BY", "VO", "CHANGE", "TAGS"), rows)
		},
	}, voAlone)
}

func tagsValidateCmd(d *deps, f *tagOptions) *cobra.Command {
	return f.ofVO(&cobra.Command{
		Use: "validate TAG", Short: "Run an environment's own test and publish what it showed", Args: usageArgs(cobra.ExactArgs(1)),
		ValidArgsFunction: completePublished(d, f),
		Long: `Validate deploys the environment of a tag on this machine and runs the test that
its definition names. The tag's state becomes installedverified, or
installedbroken where the test failed; where the environment could not be made
here, or validating was interrupted, the state stays.`,
		Example: "  grid tags validate VEE-Debian11",
		RunE:    func(cmd *cobra.Command, names []string) error { return runTagsValidate(cmd.Context(), d, f, names[0]) },
	}, voInstead)
}

func runTagsValidate(ctx context.Context, d *deps, f *tagOptions, name string) error {
	c, err := tagCaller(d)
	if err != nil {
		return err
	}
	code, err := tryEnvironment(d, f, name)
	if told, ok := errors.AsType[*environment.EndedError](err); ok {
		return &exitError{code: 128 + int(told.By), err: err}
	}
	if err != nil {
		return err
	}
	state := tags.InstalledVerified
	if code != 0 {
		state = tags.InstalledBroken
	}
	if err := tagStore(d, f).SetState(ctx, c, f.vo, name, state); err != nil {
		return err
	}
	if d.json {
		err = tagsChanged(d, string(state), f.vo, []string{name}, nil)
	} else {
		err = sayOut(d, "%s is %s", name, state)
	}
	if err != nil {
		return err
	}
	if code != 0 {
		return fmt.Errorf("the test of %s ended with exit code %d", name, code)
	}
	return nil
}

// tryEnvironment runs the test of a tag's definition and gives its exit code.
func tryEnvironment(d *deps, f *tagOptions, name string) (code int, err error) {
	node, err := environment.ReadNode(abs(d, f.node))
	if err != nil {
		return 0, err
	}
	node.Fetch, node.Codec = registry.Client{}.Blobs, layers.Codec{}
	def, err := node.Definition(name)
	if err != nil {
		return 0, err
	}
	if len(def.Test) == 0 {
		return 0, fmt.Errorf("%s: the definition names no test, such as test = [\"/bin/sh\", \"-c\", \"grep -q bullseye /etc/os-release\"]", def.File)
	}
	if node.Program, err = launchProgram(d); err != nil {
		return 0, err
	}
	dir, err := durable.MkdirTemp("grid-validate")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	return node.Try(&environment.Job{Definition: def, Argv: def.Test, Sandbox: environment.Sandbox{Dir: dir}}, os.Stderr)
}
