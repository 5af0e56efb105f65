package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"

	"gridbroker/credential"
	"gridbroker/jdl/classad"
	"gridbroker/jobs"

	"gridbroker/plugins"
)

// config is the configuration file. Every field has a default, so that no
// file is needed; flags win over it.
type config struct {
	// Sources are URLs of what is asked for resources, the same as --info.
	Sources  []string `toml:"sources"`
	Resolver string   `toml:"resolver"` // DNS server for archery: sources, "host:port"; empty: the system's

	// Scheduler is the central scheduler that jobs are handed to; "": none.
	Scheduler string `toml:"scheduler"`

	VO       string   `toml:"vo"`
	Policy   string   `toml:"policy"`
	Formula  string   `toml:"formula"` // the policy of name "formula"
	Unknown  string   `toml:"unknown"` // keep or reject
	Scouts   int      `toml:"scouts"`  // jobs for a resource not known to run any; 0: no limit
	Deadline duration `toml:"deadline"`
	MaxAge   duration `toml:"max_age"` // of cached answers
	Settle   duration `toml:"settle"`  // for how long a request that nobody answered may still arrive
	StateDir string   `toml:"state_dir"`

	Services servicesConfig     `toml:"services"`
	Weights  map[string]float64 `toml:"weights"` // of the hybrid score's terms
	Auth     authConfig         `toml:"auth"`

	text []byte // of the file, for the tables of back-ends
	path string
}

// servicesConfig lists what is asked about resources that passed the filters.
type servicesConfig struct {
	QueueLengths []string `toml:"queue_lengths"` // URLs
	Forecasts    []string `toml:"forecasts"`
	Monitors     []string `toml:"monitors"`
}

// authConfig chooses credentials.
type authConfig struct {
	Issuer   string `toml:"issuer"`    // OIDC issuer for grid auth login
	ClientID string `toml:"client_id"` // at that issuer
	// PublicCAs are patterns of hosts that get credentials although a public
	// authority signed their certificate, AnyToken of those that get the
	// token at hand whatever audience it states.
	PublicCAs []string `toml:"public_cas"`
	AnyToken  []string `toml:"any_token"`
	// Delegation is for how long credentials are delegated at most; 0: a day where
	// grid follow renews them, else as long as their own, seven days at most.
	Delegation duration `toml:"delegation"`
}

// duration reads "90s", "8h" and the like. It is no number, as one without a unit would
// be taken for nanoseconds.
type duration struct{ time.Duration }

// UnmarshalText implements encoding.TextUnmarshaler.
func (d *duration) UnmarshalText(text []byte) error {
	v, err := parseLength(string(text))
	d.Duration = v
	if err != nil {
		return &lengthError{string(text), err}
	}
	return nil
}

// lengthError is a value that is no length of time.
type lengthError struct {
	text string
	error
}

// defaultConfig is what holds where neither file nor flags say otherwise.
func defaultConfig() config {
	return config{
		Policy: "hybrid", Unknown: "keep", Scouts: 5,
		Deadline: duration{8 * time.Second}, MaxAge: duration{time.Minute}, Settle: duration{jobs.SettleTime},
	}
}

// configPath is where the configuration is looked for: --config,
// $GRID_CONFIG, $XDG_CONFIG_HOME/grid/grid.toml, ~/.config/grid/grid.toml.
func configPath(d *deps) (path string, named bool) {
	for _, p := range []string{d.config, d.env.Getenv("GRID_CONFIG")} {
		if p != "" {
			return abs(d, p), true
		}
	}
	return filepath.Join(xdg(d, "XDG_CONFIG_HOME", ".config"), "grid", "grid.toml"), false
}

// loadConfig reads the configuration file; a missing one is no error unless
// it was named.
func loadConfig(d *deps) (config, error) {
	c := defaultConfig()
	path, named := configPath(d)
	if err := credential.Owned(credentialEnv(d), path); err != nil {
		return c, usageError(fmt.Errorf("configuration: %w", err))
	}
	text, err := readNamed(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !named:
		return c, nil
	case err != nil:
		return c, usageError(fmt.Errorf("configuration: %w", err))
	}
	if err := tooMany(path, text, mostOfUser); err != nil {
		return c, usageError(err)
	}
	c.text, c.path = text, path
	if err := (known{reflect.TypeOf(c), ofBackend(d), c}).read(path, text, &c); err != nil {
		return c, usageError(err)
	}
	if err := c.check(); err != nil {
		return c, usageError(fmt.Errorf("%s: %w", path, err))
	}
	return c, nil
}

// check finds values that nothing can be made of.
func (c config) check() error {
	switch {
	case c.Unknown != "keep" && c.Unknown != "reject":
		return fmt.Errorf("unknown = %q: say keep or reject", c.Unknown)
	case c.Scouts < 0:
		return fmt.Errorf("scouts = %d: say a number of jobs; 0: no limit", c.Scouts)
	case c.Deadline.Duration == 0:
		return errors.New("deadline = 0: no source can answer in no time")
	}
	for name, patterns := range map[string][]string{"public_cas": c.Auth.PublicCAs, "any_token": c.Auth.AnyToken} {
		for _, p := range patterns {
			if _, err := path.Match(p, ""); err != nil {
				return fmt.Errorf("auth.%s: %q is no pattern of hosts, such as *.example.org", name, p)
			}
		}
	}
	if u, err := url.Parse(c.Auth.Issuer); err != nil || c.Auth.Issuer != "" && (u.Scheme != "https" || u.Host == "") {
		return fmt.Errorf("auth.issuer = %q: say an https:// URL", c.Auth.Issuer)
	}
	return nil
}

// ofBackend tells which tables are a back-end's, which reads them itself.
func ofBackend(d *deps) func(table string) bool {
	return func(table string) bool {
		return slices.ContainsFunc(d.env.Backends, func(b plugins.Backend) bool { return b.Table != "" && b.Table == table })
	}
}

// settings decodes one table of the file into a pointer.
func (c config) settings(table string, into any) error {
	field := reflect.StructField{Name: "Table", Type: reflect.TypeOf(into).Elem(), Tag: reflect.StructTag(fmt.Sprintf("toml:%q", table))}
	whole := reflect.New(reflect.StructOf([]reflect.StructField{field}))
	if err := (known{whole.Type().Elem(), func(name string) bool { return name != table }, c}).read(c.path, c.text, whole.Interface()); err != nil {
		return err
	}
	reflect.ValueOf(into).Elem().Set(whole.Elem().Field(0))
	return nil
}

// settingError is a mistake in the configuration file, with its place.
type settingError struct{ place, said string }

func (e *settingError) Error() string { return e.place + ": " + e.said }

// noSetting says that there is no setting of a name, which one of these kinds it may have been meant for, and where it stands in a table but is one of the file itself.
func noSetting(key []string, kinds reflect.Type, settings any) string {
	said := "no such setting: " + strings.Join(key, ".")
	last := key[len(key)-1]
	for f := range reflect.TypeOf(settings).Fields() {
		if len(key) > 1 && f.Tag.Get("toml") == last {
			return said + "; " + last + " is one of the whole file: write it above the first [table]"
		}
	}
	if near := classad.Nearest(last, settingNames(kinds, key[:len(key)-1])); near != "" {
		return said + "; did you mean " + near + "?"
	}
	return said
}

// configError names file, line and column in its text.
func configError(path string, text []byte, err error) error {
	if e, ok := errors.AsType[*toml.DecodeError](err); ok {
		line, col := e.Position()
		return &settingError{fmt.Sprintf("%s:%d:%d", path, line, col), tomlMistake(strings.TrimPrefix(e.Error(), "toml: "))}
	}
	if e, ok := errors.AsType[*lengthError](err); ok { // a number: the reader of TOML does not say where
		path += numberPlace(text, e.text)
	}
	return &settingError{path, err.Error()}
}

// wrongKind is how the reader of TOML says that a setting is of another kind.
var wrongKind = regexp.MustCompile(`^cannot decode TOML (\S+) into .* of type (\S+)$`)

// tomlMistake puts the names of types into the user's words.
func tomlMistake(said string) string {
	m := wrongKind.FindStringSubmatch(said)
	if m == nil {
		return said
	}
	want, known := map[string]string{"[]string": `a list of texts, ["..."]`, "string": `a text, "..."`, "bool": "true or false", "int": "a whole number",
		"int64": "a whole number", "uint64": "a whole number from 0 on", "float64": "a number"}[m[2]]
	if !known {
		want = "something else: see grid config show"
	}
	return fmt.Sprintf("here is a TOML %s, and there must be %s", m[1], want)
}

// abs makes a path given by the user absolute; "~" is the home directory, in
// configuration files and after "--flag=" too, where no shell has replaced it.
func abs(d *deps, path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok || path == "~" {
		return filepath.Join(d.env.Getenv("HOME"), strings.TrimPrefix(rest, "~"))
	}
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(d.env.Dir, path)
}

// xdg returns a base directory of the XDG specification, or its default
// below the home directory.
func xdg(d *deps, name, def string) string {
	if dir := d.env.Getenv(name); filepath.IsAbs(dir) {
		return dir
	}
	return filepath.Join(d.env.Getenv("HOME"), def)
}

// stateDir is where jobs and their history are kept.
func stateDir(d *deps, c config) string {
	for _, dir := range []string{d.state, d.env.Getenv("GRID_STATE_DIR"), c.StateDir} {
		if dir != "" {
			return abs(d, dir)
		}
	}
	return filepath.Join(xdg(d, "XDG_STATE_HOME", ".local/state"), "grid")
}

// cacheDir is where the last good answers of sources are kept.
func cacheDir(d *deps) string {
	return filepath.Join(xdg(d, "XDG_CACHE_HOME", ".cache"), "grid")
}
