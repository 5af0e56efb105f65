package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"gridbroker/environment/tags"
)

func tagsPublishCmd(d *deps, f *tagOptions) *cobra.Command {
	cmd := &cobra.Command{
		Use: "publish", Short: "Write the tags for information systems and batch systems",
		Long:    "Publish writes the tags of the store in the form that another system reads.",
		Example: "  grid tags publish slurm --nodes 'n[1-4]'",
	}
	cmd.AddCommand(publishGLUE1Cmd(d, f), publishGLUE2Cmd(d, f), publishSlurmCmd(d, f), publishRTECmd(d, f))
	return cmd
}

// ldif prints what a BDII reads, or the script that a BDII runs to get it.
func ldif(d *deps, f *tagOptions, script bool, args []string, write func([]tags.Tag) string) error {
	if script {
		argv := append([]string{d.env.Exe, "tags", "publish"}, args...)
		return printText(d, "tags.publish", args[0], tags.Script(append(argv, "--store", abs(d, f.store))))
	}
	list, err := tagStore(d, f).Published()
	if err != nil {
		return tagsMistake(err)
	}
	return printText(d, "tags.publish", args[0], write(list))
}

func publishGLUE1Cmd(d *deps, f *tagOptions) *cobra.Command {
	var dn, static string
	var script bool
	cmd := &cobra.Command{
		Use: "glue1", Short: "GLUE 1.3: values to add to a sub-cluster, as a GIP plugin prints them", Args: usageArgs(cobra.NoArgs),
		Long: `Glue1 prints the change that adds the tags to a GlueSubCluster. With --script it
prints the plugin itself: put it beside the BDII's other plugins, executable, by
a rename, for a BDII also runs files whose names begin with a dot. With --static it
prints the site's static LDIF with the tags in it, for a BDII without plugins.`,
		Example: `  grid tags publish glue1 --subcluster GlueSubClusterUniqueID=ce,... --script > tags.new
  chmod 755 tags.new && mv tags.new /var/lib/bdii/gip/plugin/tags`,
		RunE: func(*cobra.Command, []string) error {
			if !strings.Contains(dn, "=") {
				return usageError(fmt.Errorf("--subcluster %q is no DN, such as GlueSubClusterUniqueID=ce.example.org,...,mds-vo-name=resource,o=grid: ldapsearch -x -b o=grid '(objectClass=GlueSubCluster)' dn shows it", dn))
			}
			if static != "" {
				return publishStatic(d, f, dn, static)
			}
			return ldif(d, f, script, []string{"glue1", "--subcluster", dn}, func(l []tags.Tag) string { return tags.GLUE1(dn, l) })
		},
	}
	cmd.Flags().StringVar(&dn, "subcluster", "", "`DN` of the GlueSubCluster")
	cmd.Flags().BoolVar(&script, "script", false, "print the plugin")
	cmd.Flags().StringVar(&static, "static", "", "print this LDIF `FILE` with the tags added")
	cmd.MarkFlagsMutuallyExclusive("script", "static")
	return cmd
}

// publishStatic prints a site's own LDIF with the tags in it.
func publishStatic(d *deps, f *tagOptions, dn, file string) error {
	text, err := readNamed(abs(d, file))
	if err != nil {
		return err
	}
	list, err := tagStore(d, f).Published()
	if err != nil {
		return tagsMistake(err)
	}
	out, err := tags.GLUE1Static(string(text), dn, list)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return printText(d, "tags.publish", "glue1", out)
}

func publishGLUE2Cmd(d *deps, f *tagOptions) *cobra.Command {
	var p tags.Place
	var script bool
	cmd := &cobra.Command{
		Use: "glue2", Short: "GLUE 2.0: ApplicationEnvironment entries, as a GIP provider prints them", Args: usageArgs(cobra.NoArgs),
		Long:    "Glue2 prints an ApplicationEnvironment for each tag. With --script it prints the provider itself.",
		Example: "  grid tags publish glue2 --manager urn:site:manager --service urn:site:service",
		RunE: func(*cobra.Command, []string) error {
			if p.Manager == "" || p.Service == "" {
				return usageError(fmt.Errorf("give --manager and --service"))
			}
			args := []string{"glue2", "--manager", p.Manager, "--service", p.Service}
			if p.Base != "" {
				args = append(args, "--base", p.Base)
			}
			return ldif(d, f, script, args, func(l []tags.Tag) string { return tags.GLUE2(p, l, d.env.Now()) })
		},
	}
	cmd.Flags().StringVar(&p.Manager, "manager", "", "`ID` of the ComputingManager")
	cmd.Flags().StringVar(&p.Service, "service", "", "`ID` of the ComputingService")
	cmd.Flags().StringVar(&p.Base, "base", "", "`DN` that the service stands below (default GLUE2GroupID=resource,o=glue)")
	cmd.Flags().BoolVar(&script, "script", false, "print the provider")
	return cmd
}

func publishSlurmCmd(d *deps, f *tagOptions) *cobra.Command {
	var nodes string
	var other []string
	cmd := &cobra.Command{
		Use: "slurm", Short: "Slurm: the scontrol command that makes the tags features of nodes", Args: usageArgs(cobra.NoArgs),
		Long: `Slurm prints the command; nothing is changed. Slurm takes the list of features
whole: name those that the nodes have besides by --other. What is not written to
slurm.conf as well is gone at the next scontrol reconfigure.`,
		Example: "  grid tags publish slurm --nodes 'n[1-4]' --other gpu",
		RunE: func(*cobra.Command, []string) error {
			if _, err := tags.SlurmFeatures(nodes, other, nil); err != nil { // before the store is read
				return usageError(err)
			}
			list, err := tagStore(d, f).All()
			if err != nil {
				return tagsMistake(err)
			}
			argv, err := tags.SlurmFeatures(nodes, other, list)
			if err != nil {
				return usageError(err)
			}
			if d.json {
				return printJSON(d, "tags.slurm", argvDocument{argv})
			}
			for i, w := range argv {
				argv[i] = tags.Quote(w)
			}
			sayOut(d, "%s", strings.Join(argv, " "))
			return nil
		},
	}
	cmd.Flags().StringVar(&nodes, "nodes", "", "`NODES` as Slurm names them")
	cmd.Flags().StringSliceVar(&other, "other", nil, "`FEATURES` that the nodes have besides")
	return cmd
}

func publishRTECmd(d *deps, f *tagOptions) *cobra.Command {
	l := tags.Launch{}
	cmd := &cobra.Command{
		Use: "rte TAG", Short: "ARC: the script of a runtime environment that makes jobs run inside", Args: usageArgs(cobra.ExactArgs(1)),
		ValidArgsFunction: completePublished(d, f),
		Long: `Rte prints the script for a tag: write it to A-REX's runtimedir under the tag's
name, then arcctl rte enable TAG. Its options are never looked at. grid-launch
and the node's settings lie at the same paths on every node.`,
		Example: "  grid tags publish rte VEE-Debian11 > /etc/arc/rte/VEE-Debian11",
		RunE: func(_ *cobra.Command, names []string) error {
			list, err := tagStore(d, f).All()
			if err != nil {
				return tagsMistake(err)
			}
			for _, t := range list {
				if t.Name != names[0] {
					continue
				}
				l.Node = abs(d, f.node)
				text, err := tags.RTE(t, l)
				if err != nil {
					return err
				}
				return printText(d, "tags.publish", "rte", text)
			}
			return fmt.Errorf("%s is not among the tags of %s: grid tags add; A-REX tells capital letters from small ones", names[0], abs(d, f.store))
		},
	}
	cmd.Flags().StringVar(&l.Program, "launcher", "/usr/local/bin/grid-launch", "`PATH` of grid-launch on the nodes")
	return cmd
}
