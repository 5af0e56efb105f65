package cli

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/pflag"

	"gridbroker/plugins/remote"
)

// followUnit is the systemd unit of a user's follower: what of the environment goes along, and the command.
const followUnit = `[Unit]
Description=Follows the user's grid jobs
Documentation=man:grid-follow(1)

[Service]
%sExecStart=%s
Restart=on-failure
RestartSec=30
SuccessExitStatus=143

[Install]
WantedBy=default.target
`

// unitVariables are those that say where records, settings and credentials are, and how back-ends are reached. What is
// secret itself, or ends with the session, is not among them.
var unitVariables = []string{"PATH", "GRID_CONFIG", "GRID_STATE_DIR", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME",
	"X509_USER_PROXY", "X509_USER_CERT", "X509_USER_KEY", "X509_CERT_DIR", "X509_VOMS_DIR", "X509_VOMSES", "BEARER_TOKEN_FILE",
	"LCG_GFAL_INFOSYS", "SLURM_CONF", "CONDOR_CONFIG", "KRB5CCNAME", "NO_PROXY", "HTTPS_PROXY"}

// followArguments are the flags of a call, for another one in another directory.
func followArguments(d *deps, flags *pflag.FlagSet) (args []string) {
	flags.Visit(func(f *pflag.Flag) {
		values := []string{f.Value.String()}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		switch f.Name {
		case "install", "json", "jq", "once":
			return
		case "config", "state-dir":
			values[0] = abs(d, values[0])
		}
		for _, v := range values {
			if path, ok := strings.CutPrefix(v, "file:"); f.Name == "info" && ok {
				v = "file:" + abs(d, path)
			}
			args = append(args, "--"+f.Name+"="+v)
		}
	})
	return args
}

// unitText is the unit that runs the program with the arguments.
func unitText(exe string, args []string, getenv func(string) string) string {
	var env strings.Builder
	for _, name := range unitVariables {
		if v := getenv(name); v != "" && !strings.ContainsFunc(v, unicode.IsControl) && !secretProxy(name, v) {
			fmt.Fprintf(&env, "Environment=%s\n", unitWord(name+"="+v))
		}
	}
	words := []string{unitWord(exe), "follow"}
	for _, a := range args {
		words = append(words, strings.ReplaceAll(unitWord(a), "$", "$$"))
	}
	return fmt.Sprintf(followUnit, env.String(), strings.Join(words, " "))
}

// secretProxy tells whether a variable is that of a proxy whose user is named, and most often the password.
func secretProxy(name, value string) bool {
	return name == "HTTPS_PROXY" && strings.Contains(value, "@")
}

// unitWord is a word as a unit has it (systemd.syntax(7), systemd.unit(5) on specifiers).
func unitWord(s string) string {
	var b strings.Builder
	for _, c := range []byte(s) {
		switch {
		case c == '\\' || c == '"':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c == '%':
			b.WriteString("%%")
		case c < ' ' || c == 0x7f: // a line break would begin another setting
			fmt.Fprintf(&b, `\x%02x`, c)
		default:
			b.WriteByte(c)
		}
	}
	return `"` + b.String() + `"`
}

func runFollowInstall(ctx context.Context, d *deps, args []string) error {
	file := filepath.Join(xdg(d, "XDG_CONFIG_HOME", ".config"), "systemd", "user", "grid-follow.service")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	exe, err := filepath.Abs(d.env.Exe)
	if err != nil {
		return err
	}
	if err := writeWhole(file, []byte(unitText(exe, args, d.env.Getenv)), 0o600); err != nil {
		return err
	}
	if err := printFile(d, "follow.install", file); err != nil {
		return err
	}
	ctx, stop := context.WithTimeout(ctx, 30*time.Second)
	defer stop()
	for _, step := range [][]string{{"daemon-reload"}, {"enable", "grid-follow.service"}, {"restart", "grid-follow.service"}} {
		out, err := exec.CommandContext(ctx, "systemctl", append([]string{"--user"}, step...)...).CombinedOutput()
		if err != nil {
			line := remote.CommandLine(slices.Concat([]string{exe, "follow"}, args))
			return fmt.Errorf(`systemctl --user %s: %s; the unit is written, and nothing has started it
    where systemd does not serve users: nohup %s >follow.log 2>&1 &
    or in a crontab: */5 * * * * %s --once`, step[0], cmp.Or(strings.TrimSpace(string(out)), err.Error()), line, strings.ReplaceAll(line, "%", `\%`))
		}
	}
	sayLinger(ctx, d)
	return nil
}

// sayLinger says what the unit cannot have or will not live through.
func sayLinger(ctx context.Context, d *deps) {
	out, err := exec.CommandContext(ctx, "loginctl", "show-user", strconv.Itoa(d.env.UID), "--property=Linger").Output()
	if err == nil && slices.Contains(strings.Fields(string(out)), "Linger=no") {
		sayErr(d, "it ends when you log out of your last session here; loginctl enable-linger keeps it at work")
	}
	if d.env.Getenv("BEARER_TOKEN") != "" {
		sayErr(d, "the token in BEARER_TOKEN does not go along, for a unit is no place for secrets: put it into a file and name that by BEARER_TOKEN_FILE")
	}
	if secretProxy("HTTPS_PROXY", d.env.Getenv("HTTPS_PROXY")) {
		sayErr(d, "the proxy in HTTPS_PROXY does not go along, for it names a user, and a unit is no place for secrets")
	}
}
