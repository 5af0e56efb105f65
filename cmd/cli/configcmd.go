package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/spf13/cobra"

	"gridbroker/plugins"
)

type configDocument struct {
	Path     string         `json:"path"`
	Exists   bool           `json:"exists"`
	StateDir string         `json:"state_dir"`
	CacheDir string         `json:"cache_dir"`
	Settings map[string]any `json:"settings"` // of the file, over the defaults
}

func configCmd(d *deps) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "config",
		Short:   "Show, check or begin the configuration",
		Long:    "Config tells which configuration holds and where it comes from. Without a file everything has a default.",
		Example: "  grid config show\n  grid config init",
	}
	cmd.AddCommand(
		&cobra.Command{
			Use: "path", Short: "Print where the configuration file is looked for", Args: usageArgs(cobra.NoArgs),
			Example: "  $EDITOR $(grid config path)",
			RunE: func(*cobra.Command, []string) error {
				path, _ := configPath(d)
				return printFile(d, "config.path", path)
			},
		},
		&cobra.Command{
			Use: "show", Short: "Print the settings that hold, defaults included", Args: usageArgs(cobra.NoArgs),
			Example: "  grid config show\n  grid config show --jq .settings.sources",
			RunE:    func(*cobra.Command, []string) error { return runConfigShow(d) },
		},
		&cobra.Command{
			Use: "check [FILE]", Short: "Check a configuration file", Args: usageArgs(cobra.MaximumNArgs(1)),
			Example: "  grid config check\n  grid config check new.toml && mv new.toml ~/.config/grid/grid.toml",
			RunE:    func(_ *cobra.Command, args []string) error { return runConfigCheck(d, args) },
		},
		&cobra.Command{
			Use: "init", Short: "Write a commented configuration file where there is none", Args: usageArgs(cobra.NoArgs),
			Example: "  grid config init && $EDITOR $(grid config path)",
			RunE:    func(*cobra.Command, []string) error { return runConfigInit(d) },
		},
	)
	return cmd
}

func runConfigShow(d *deps) error {
	c, err := loadConfig(d)
	if err != nil {
		return err
	}
	path, _ := configPath(d)
	text, err := toml.Marshal(c.shown())
	if err != nil {
		return err
	}
	doc := configDocument{Path: path, Exists: c.path != "", StateDir: stateDir(d, c), CacheDir: cacheDir(d), Settings: map[string]any{}}
	if d.json {
		if err := toml.Unmarshal(text, &doc.Settings); err != nil {
			return err
		}
		return printJSON(d, "config.show", doc)
	}
	from := path
	if !doc.Exists {
		from += " (not there: these are the defaults)"
	}
	say(d, d.env.Out, "# %s\n# job records: %s\n# cache: %s\n%s", from, doc.StateDir, doc.CacheDir, whole(text))
	return nil
}

// shown is the configuration as the file would say it, the tables of back-ends as they stand there.
func (c config) shown() map[string]any {
	all := map[string]any{}
	_ = toml.Unmarshal(c.text, &all) // read once already
	for key, value := range map[string]any{
		"sources": c.sourcesOrDefault(), "policy": c.Policy, "unknown": c.Unknown, "scouts": c.Scouts,
		"deadline": c.Deadline.String(), "max_age": c.MaxAge.String(),
	} {
		all[key] = value
	}
	return all
}

func (c config) sourcesOrDefault() []string {
	if len(c.Sources) == 0 {
		return []string{"local:"}
	}
	return c.Sources
}

// String writes a duration as the file has it.
func (d duration) String() string {
	return strings.TrimSuffix(strings.TrimSuffix(d.Duration.String(), "0s"), "0m")
}

func runConfigCheck(d *deps, args []string) error {
	if len(args) > 0 {
		d.config = args[0]
	}
	path, named := configPath(d)
	if _, err := os.Stat(path); err != nil {
		hint := ""
		if !named && errors.Is(err, fs.ErrNotExist) {
			hint = " (the defaults of grid config show count; grid config init writes one)"
		}
		return usageError(fmt.Errorf("configuration: %w%s", err, hint))
	}
	c, err := loadConfig(d)
	if err != nil {
		return err
	}
	if _, err := policyOf(d, c, planning{}); err != nil {
		return usageError(fmt.Errorf("%s: %w", path, err))
	}
	backends, err := openBackends(d, c)
	if err != nil {
		return err
	}
	defer backends.Close()
	if err := checkPlaces(d, c, backends); err != nil {
		return usageError(fmt.Errorf("%s: %w", path, err))
	}
	if d.json {
		return printJSON(d, "config.check", pathDocument{path})
	}
	sayOut(d, "%s: good", path)
	return nil
}

// checkPlaces finds sources, services and a scheduler that are none. Nobody is asked.
func checkPlaces(d *deps, c config, b *plugins.Registry) error {
	if _, err := opener(d, c, b, discovery{}).OpenAll(c.Sources); err != nil {
		return err
	}
	if _, err := newServices(d, c, b, nil); err != nil {
		return err
	}
	if to := schedulerURL("", false, c); to != "" {
		back, ok := b.ForURL(to)
		if !ok || !takesAll(back.Submitter) {
			return fmt.Errorf("scheduler = %q: not a scheduler; want grid://host:port, or tree://host:port of a tree of managers", to)
		}
	}
	return nil
}

// configTemplate is a file to begin with: defaults and examples behind comment signs.
const configTemplate = `# Settings of grid. A line holds once its # is taken away; docs/configuration.md has all settings.

# Where to look for resources; the same URLs as --info takes. Without this line this machine, local:.
# sources = ["ldap://bdii.example.org:2170/o=glue", "https://ce.example.org/arex", "slurm+ssh://me@login.example.org", "local:"]

# The virtual organisation to be a member of, where neither job nor credential says.
# vo = "atlas"

# How resources are ranked: hybrid, jdl, fastest-queue, random, paper, forecast, data. The default:
# policy = "hybrid"

# Resources that do not publish what a job needs: keep or reject. The default:
# unknown = "keep"

# Jobs for a resource that is not known to run any; 0: no limit. The default:
# scouts = 5

# A named site on this machine; any number of them.
# [[local]]
# name = "desk"
# slots = 4
# tags = ["APPS/HEP/ROOT-6.32"]
`

func runConfigInit(d *deps) error {
	path, _ := configPath(d)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	err := writeNew(path, configTemplate, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return usageError(fmt.Errorf("%s is there already: grid config show", path))
	}
	if err != nil {
		return err
	}
	return printFile(d, "config.init", path)
}
