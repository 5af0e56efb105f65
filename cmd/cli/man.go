package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"
)

// manCmd writes the man pages, made from the same texts as --help.
func manCmd(d *deps) *cobra.Command {
	return &cobra.Command{
		Use: "man DIR", Short: "Write the man pages of all verbs into a directory",
		Example: "  grid man /usr/local/share/man/man1",
		Args:    usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			dir := abs(d, args[0])
			if _, err := os.Stat(dir); err != nil && slices.Contains(verbNames(cmd.Root()), args[0]) {
				return misused(cmd, fmt.Errorf("it writes pages into a directory, and %s is a verb", args[0]), fmt.Sprintf(": man grid-%s shows one that is installed, grid %s --help the same words", args[0], args[0]))
			}
			if err := os.MkdirAll(dir, 0o755); err != nil {
				return err
			}
			if err := manPages(cmd.Root(), dir); err != nil || !d.json {
				return err
			}
			return printJSON(d, "man", pathDocument{dir})
		},
	}
}

// manPages writes the page of a verb, and those of the verbs below it.
func manPages(cmd *cobra.Command, dir string) error {
	for _, sub := range cmd.Commands() {
		if !sub.IsAvailableCommand() || sub.IsAdditionalHelpTopicCommand() {
			continue
		}
		if err := manPages(sub, dir); err != nil {
			return err
		}
	}
	name := strings.ReplaceAll(cmd.CommandPath(), " ", "-")
	header := &doc.GenManHeader{Title: strings.ToUpper(name), Section: "1", Source: "grid " + version(), Manual: "Grid", Date: &time.Time{}}
	cmd.DisableAutoGenTag = true
	var page bytes.Buffer
	if err := doc.GenMan(cmd, header, &page); err != nil {
		return err
	}
	// A page says the same whenever it is made.
	text := strings.Replace(page.String(), `"`+header.Date.Format("Jan 2006")+`"`, `""`, 1)
	text = withoutSections(text, "OPTIONS", "OPTIONS INHERITED FROM PARENT COMMANDS")
	more := manOptions("OPTIONS", cmd.NonInheritedFlags()) + manOptions("GLOBAL OPTIONS", cmd.InheritedFlags()) +
		manCommands(cmd) + manExit() + manEnvironment() + manFiles()
	if head, see, ok := strings.Cut(text, ".SH SEE ALSO"); ok {
		text = head + more + ".SH SEE ALSO" + see
	} else {
		text += more
	}
	return writeWhole(filepath.Join(dir, name+".1"), []byte(text), 0o644)
}

// roff writes text so that nothing in it is a request of the formatter.
func roff(text string) string {
	text = "\n" + strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	text = strings.NewReplacer("\n.", "\n\\&.", "\n'", "\n\\&'").Replace(text) // in every line
	return text[1:]
}

func manList(title string, rows [][2]string) string {
	var out strings.Builder
	fmt.Fprintf(&out, ".SH %s\n", title)
	for _, row := range rows {
		fmt.Fprintf(&out, ".TP\n\\fB%s\\fP\n%s\n", roff(row[0]), roff(row[1]))
	}
	return out.String()
}

// withoutSections leaves sections of a page out.
func withoutSections(page string, titles ...string) string {
	for _, title := range titles {
		head, rest, ok := strings.Cut(page, ".SH "+title+"\n")
		if !ok {
			continue
		}
		if end := strings.Index(rest, "\n.SH "); end >= 0 {
			page = head + rest[end+1:]
		} else {
			page = head
		}
	}
	return page
}

// manOptions lists flags with the names of their values.
func manOptions(title string, flags *pflag.FlagSet) string {
	var rows [][2]string
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		value, usage := pflag.UnquoteUsage(f)
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		if f.NoOptDefVal == "" {
			name += " " + value
		}
		rows = append(rows, [2]string{name, usage + manDefault(f, usage)})
	})
	if len(rows) == 0 {
		return ""
	}
	return manList(title, rows)
}

// manDefault is the default of a flag as --help tells it, with what stands before.
func manDefault(f *pflag.Flag, usage string) string {
	var one pflag.FlagSet
	one.AddFlag(f)
	told := strings.TrimRight(one.FlagUsages(), "\n")
	return told[strings.LastIndex(told, usage)+len(usage):]
}

// manCommands lists the verbs below one.
func manCommands(cmd *cobra.Command) string {
	var rows [][2]string
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			rows = append(rows, [2]string{sub.Name(), sub.Short})
		}
	}
	if len(rows) == 0 {
		return ""
	}
	return manList("COMMANDS", rows)
}

func manExit() string {
	var rows [][2]string
	for _, c := range ExitCodes() {
		rows = append(rows, [2]string{fmt.Sprint(c.Code), c.Means})
	}
	return manList("EXIT STATUS", rows)
}

func manEnvironment() string { return manList("ENVIRONMENT", environmentVariables()) }

func manFiles() string {
	return manList("FILES", [][2]string{
		{"~/.config/grid/grid.toml", "Settings; grid config show tells those that hold, grid config init writes a commented file."},
		{"~/.local/state/grid/jobs.db", "The job records: an SQLite file for its owner alone."},
		{"~/.local/state/grid/inputs/", "What nodes of DAGs have taken from other nodes, a directory for each job."},
		{"~/.local/state/grid/history.db", "What was learnt of resources: run times, waits, failures."},
		{"~/.cache/grid/", "The last answers of information systems. It may be removed at any time."},
		{"~/.globus/usercert.pem, userkey.pem, usercred.p12", "The user's certificate and key."},
		{"/tmp/x509up_uUID, $XDG_RUNTIME_DIR/bt_uUID, /tmp/bt_uUID", "The proxy and the bearer token that are used."},
		{"/etc/grid-security/certificates/", "Certificate authorities of the grid; vomsdir/ and vomses beside it."},
	})
}

// environmentVariables are those that the command honours.
func environmentVariables() [][2]string {
	return [][2]string{
		{"GRID_CONFIG", "The configuration file; --config goes before it."},
		{"GRID_STATE_DIR", "The directory of the job records; --state-dir goes before it."},
		{"XDG_CONFIG_HOME, XDG_STATE_HOME, XDG_CACHE_HOME, XDG_RUNTIME_DIR", "Where settings, records, caches and tokens lie, by the XDG Base Directory Specification."},
		{"LCG_GFAL_INFOSYS", "BDIIs, HOST:PORT with commas between them, where no sources are configured."},
		{"X509_USER_PROXY, X509_USER_CERT, X509_USER_KEY", "The proxy, the certificate and the key."},
		{"X509_CERT_DIR, X509_VOMS_DIR, X509_VOMSES, VOMS_USERCONF", "Certificate authorities, and the VOMS servers that are trusted and asked."},
		{"SSL_CERT_FILE, SSL_CERT_DIR", "The system's certificate authorities."},
		{"BEARER_TOKEN, BEARER_TOKEN_FILE", "A token, by WLCG bearer token discovery."},
		{"OIDC_SOCK, GRID_OIDC_ACCOUNT, GRID_OIDC_ISSUER", "The oidc-agent and the account or issuer to ask it for."},
		{"SSH_AUTH_SOCK", "The SSH agent, for back-ends over SSH."},
		{"TERM", "dumb: no colours, progress bars or live views; what changes is told in lines."},
		{"LC_ALL, LC_CTYPE, LANG", "C, POSIX, or another character set than UTF-8: what is cut in live views ends with ~."},
		{"NO_COLOR", "No colours, whatever it is set to."},
	}
}
